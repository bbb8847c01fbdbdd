// The library's short broadcast by a simulated rank: its ring, its packets and its window.
#pragma once

#include "stager/mpi/bcast/short_window.h"
#include "tests/sim/mpi/ring_calls.h"

#include <memory>

namespace stage::sim {

class ShortBroadcast {
  public:
    /// Each rank of a world makes one, at the same time.
    ShortBroadcast();
    void broadcast(MutableBytes bytes, int source);
    /// Broadcasts; returns an error of the simulated MPI.
    [[nodiscard]] int try_broadcast(MutableBytes bytes, int source);
    /// After the last call.
    void close();

  private:
    std::unique_ptr<ShortWindow> window_;
    ring_calls* calls_;
};

}  // namespace stage::sim

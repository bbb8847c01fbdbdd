// The seal of the simulation: decides whether a packet opens.
//
// In most scenarios the seal is simulated: a DATA packet opens if its 16-bit number expands to
// the one it was sent with, a control packet once. In some the real one is used, and corruption
// flips a bit. In the largest nothing is kept of any sender and everything opens.
#pragma once

#include "tests/sim/world/packets.h"
#include "tests/sim/world/plan.h"
#include "transport/seal/replay_window.h"
#include "transport/seal/session_seal.h"

#include <map>
#include <optional>

namespace stage::sim {

class Sealing {
  public:
    Sealing(const Plan& plan, std::uint16_t rank);

    /// Adds the sealed bytes of each packet, in a world with seals.
    void seal(Train& train);

    /// A packet as the core may see it; `body` lives in the train, or until the next open().
    struct Opened {
        wire::Header header;
        std::uint64_t content = 0;
        Bytes body;
    };
    /// Nothing if the packet doesn't open.
    [[nodiscard]] std::optional<Opened> open(const Train& train,
                                             std::uint32_t index,
                                             bool is_corrupt,
                                             Prng& prng);

    [[nodiscard]] std::uint64_t refused() const { return refused_; }

  private:
    struct Sender {
        std::uint64_t largest = 0;
        seal::ReplayWindow control;
    };

    [[nodiscard]] static Opened plain(const Train& train, std::uint32_t index);
    [[nodiscard]] std::optional<Opened> open_real(const Train& train,
                                                  std::uint32_t index,
                                                  bool is_corrupt,
                                                  Prng& prng);

    bool is_played_;
    std::map<std::uint16_t, Sender> senders_;
    std::optional<seal::SessionSeal> real_;
    std::vector<std::byte> packet_;  ///< Opened in place, until the next one.
    std::uint64_t refused_ = 0;
};

}  // namespace stage::sim

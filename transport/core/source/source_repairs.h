// Answers at the source for what members miss: to one member, or to the group.
//
// It composes what decides where chunks go (shared_loss.h) and what sends them
// (repair_server.h).
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/holdings.h"
#include "transport/core/base/limits.h"
#include "transport/core/repair/repair_server.h"
#include "transport/core/repair/shared_loss.h"

#include <vector>

namespace stage::core {

class SourceRepairs {
  public:
    /// `holdings` and `pool` must outlive this. `chunks_max`: of a block.
    SourceRepairs(const CoreConfig& config,
                  const Limits& limits,
                  std::uint32_t chunks_max,
                  const Holdings& holdings,
                  BufferPool& pool);

    [[nodiscard]] RepairServer& server() { return server_; }
    [[nodiscard]] const RepairServer& server() const { return server_; }
    /// The number of representatives that report now.
    void set_representatives(std::uint32_t count) { shared_loss_.set_representatives(count); }

    /// The requester hears the group, or (on_alone()) does not.
    void on_request(Instant now,
                    const SharedLoss::Asking& asking,
                    const wire::Request& request,
                    ControlQueue& out);
    void on_alone(Instant now, Rank from, const wire::Request& request, ControlQueue& out) {
        server_.on_request(now, from, request, out);
    }
    /// A representative misses these runs, which were all sent.
    void on_missing(Instant now, const std::vector<wire::ChunkRun>& runs);
    /// Sends them to the group.
    void repeat(Instant now, const std::vector<wire::ChunkRun>& runs);

  private:
    RepairServer server_;
    SharedLoss shared_loss_;
};

}  // namespace stage::core

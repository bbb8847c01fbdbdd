// Counts the failed repair requests of a block, and pauses the block after several.
//
// A time-out can be a lost packet. A refusal says that a peer lacks the chunks. A busy peer
// says nothing about which member has them, so it brings no request closer to the source.
#pragma once

#include "transport/core/base/chunk_map.h"
#include "transport/core/base/limits.h"

#include <algorithm>
#include <cstdint>

namespace stage::core {

class BlockFailures {
  public:
    enum class Kind { timeout, refusal, busy };

    /// A request that brought nothing.
    struct Failure {
        Instant now;
        Rank peer;
        Kind kind = Kind::timeout;
        unsigned copies = 1;    ///< Peers that get each request of the block.
        Duration round_trip{};  ///< The mean.
    };

    explicit BlockFailures(const RepairLimits& limits)
        : failures_before_source_{limits.failures_before_source},
          silences_free_{limits.silences_free},
          pause_max_{limits.pause_max} {}

    /// The block's next request goes to another peer; after several rounds, later.
    void on_failure(const Failure& failure, OpenBlock& open) const {
        open.lacking[open.lacking_count % open.lacking.size()] = failure.peer;
        ++open.lacking_count;
        if (failure.kind == Kind::busy) {
            open.silences = 0;
            count(open.busy);
            pause(failure, open.busy, open);
            return;
        }
        count(open.failures);
        if (failure.kind == Kind::timeout) {
            count(open.silences);
        } else {
            open.silences = 0;
            count(open.refusals);
        }
        pause(failure, open.failures, open);
    }

    /// The requested peer sent a chunk.
    static void on_given(OpenBlock& open) {
        open.failures = 0;
        open.silences = 0;
        open.refusals = 0;
        open.lacking_count = 0;
        open.busy = 0;
    }

    /// How often the time-out doubles. One or two time-outs are lost packets; more mean a
    /// network without room or without a path.
    [[nodiscard]] std::uint32_t doublings(const OpenBlock& open, unsigned copies) const {
        const std::uint32_t rounds = open.silences / copies;
        return rounds - std::min<std::uint32_t>(rounds, silences_free_);
    }

  private:
    static constexpr unsigned kCountMax = 250;    ///< Requests; a count ends here.
    static constexpr unsigned kDoublingsMax = 6;  ///< A pause is at most 64 RTTs.

    static void count(std::uint8_t& requests) {
        requests = static_cast<std::uint8_t>(std::min(requests + 1U, kCountMax));
    }

    void pause(const Failure& failure, unsigned failures, OpenBlock& open) const {
        const unsigned rounds = failures / failure.copies;
        if (rounds > failures_before_source_) {
            const unsigned doublings =
                std::min(rounds - failures_before_source_, kDoublingsMax);
            const Duration wait = failure.round_trip * (std::int64_t{1} << doublings);
            open.ask_after = failure.now + std::min(wait, pause_max_);
        }
    }

    unsigned failures_before_source_;
    unsigned silences_free_;
    Duration pause_max_;
};

}  // namespace stage::core

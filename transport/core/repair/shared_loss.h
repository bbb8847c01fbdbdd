// Decides which chunks the source retransmits, and to which destination.
//
// To the group it sends what half of the representatives, and at least two, miss, because then
// hardly any peer could repair it; what several members request from it in a short time; and
// what a member requests from it during the first pass, because then its peers lack it, too.
// To one member it sends what only that member requests. It does not repeat what it sent to the
// group a moment ago, because that may still be in flight.
#pragma once

#include "transport/core/base/chunk_set.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"

#include <cstdint>
#include <vector>

namespace stage::core {

class SharedLoss {
  public:
    /// `representatives`: how many report. `chunks_max`: of a block.
    SharedLoss(const FeedbackLimits& limits,
               std::uint32_t representatives,
               std::uint32_t chunks_max);

    /// The number of representatives that report now.
    void set_representatives(std::uint32_t representatives);

    /// A representative misses `run`: appends the chunks that half of them have now reported
    /// missing.
    void on_missing(const wire::ChunkRun& run, std::vector<wire::ChunkRun>& repeat);

    /// A REQUEST to the source.
    struct Asking {
        Rank from;
        /// What was sent to the group within this time is still in flight.
        Duration window;
        /// The member asks the source because no peer gave the chunks (docs/protocol, 7.3).
        bool is_lost_by_peers = false;
    };

    /// A member requests chunks: `alone` gets those to send to it alone, `repeat` those to send
    /// to the group.
    void on_request(Instant now,
                    const Asking& asking,
                    const wire::Request& request,
                    wire::Request& alone,
                    std::vector<wire::ChunkRun>& repeat);

    /// The run is being sent to the group.
    void on_repeat(Instant now, const wire::ChunkRun& run);

  private:
    struct Votes {
        BlockIndex block;
        std::uint64_t touched = 0;
        std::vector<std::uint8_t> counts;
    };
    struct Recent {
        BlockIndex block;
        Instant asked_since{};
        Instant repeated_since{};
        Rank asker;         ///< The last one.
        ChunkSet asked;     ///< Chunks that one member requested.
        ChunkSet repeated;  ///< Chunks that were sent to the group.
    };

    /// How the chunks of a run are sorted, and into what.
    struct Sorting {
        bool is_lost_by_peers;
        bool is_another;  ///< The requester is not the one that asked last.
        wire::Request& alone;
        std::vector<wire::ChunkRun>& repeat;
    };

    [[nodiscard]] Votes& votes_of(BlockIndex block);
    [[nodiscard]] Recent& recent_of(Instant now, BlockIndex block);
    void forget(Instant now, Duration window, Recent& recent) const;
    void sort(const wire::ChunkRun& run, const Sorting& how, Recent& recent) const;

    FeedbackLimits limits_;
    std::uint32_t threshold_;
    bool has_moved_ = false;  ///< The threshold has changed since the beginning.
    std::uint32_t chunks_max_;
    std::uint64_t touches_ = 0;
    std::vector<Votes> votes_;
    std::vector<Recent> recent_;
};

}  // namespace stage::core

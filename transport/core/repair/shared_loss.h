// What does the source send again, and to whom?
//
// To everybody what most representatives miss, because then no peer could give it; and what
// several members ask of it in a short time. To one member what only that one asks. Nothing
// that it sent to everybody a moment ago: it may still be under way.
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

    /// So many report now.
    void set_representatives(std::uint32_t representatives);

    /// A representative misses `run`: appends what has now been missed by half of them.
    void on_missing(const wire::ChunkRun& run, std::vector<wire::ChunkRun>& repeat);

    /// Who asks, and when.
    struct Asking {
        Rank from;
        Duration window;              ///< What was sent to all so lately is under way.
        bool is_lost_by_all = false;  ///< Who asks now has asked others before.
    };

    /// A member asks: `alone` gets what it alone wants, `repeat` what is sent to everybody.
    void on_request(Instant now,
                    const Asking& asking,
                    const wire::Request& request,
                    wire::Request& alone,
                    std::vector<wire::ChunkRun>& repeat);

    /// It is being sent to everybody.
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
        ChunkSet asked;     ///< By one member.
        ChunkSet repeated;  ///< To everybody.
    };

    /// How a run is sorted, and into what.
    struct Sorting {
        bool is_lost_by_all;
        bool is_another;  ///< Who asks is not the one who asked last.
        wire::Request& alone;
        std::vector<wire::ChunkRun>& repeat;
    };

    [[nodiscard]] Votes& votes_of(BlockIndex block);
    [[nodiscard]] Recent& recent_of(Instant now, BlockIndex block);
    void forget(Instant now, Duration window, Recent& recent) const;
    void sort(const wire::ChunkRun& run, const Sorting& how, Recent& recent) const;

    FeedbackLimits limits_;
    std::uint32_t threshold_;
    bool has_moved_ = false;  ///< The threshold, since the beginning.
    std::uint32_t chunks_max_;
    std::uint64_t touches_ = 0;
    std::vector<Votes> votes_;
    std::vector<Recent> recent_;
};

}  // namespace stage::core

// How often did what should be rare happen?
//
// Since the daemon's start. Logged at its end, and exported (metrics.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stage {

/// What a stage was to this node.
enum class StageRole : unsigned char {
    job = 0,     ///< The job's files came here.
    push = 1,    ///< A push's files came here.
    source = 2,  ///< A push began here; nothing was brought to this node.
};
inline constexpr std::size_t kStageRoles = 3;

/// Stages that ended, of one role.
struct EndedStages {
    std::uint64_t ok = 0;
    std::array<std::uint64_t, 3> failed{};  ///< By Blame.
};

/// Upper bounds, in seconds, of how long a job's stage takes; what takes longer is in none.
inline constexpr std::array<std::uint64_t, 11> kStageSeconds{
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200};

struct Counters {
    std::uint64_t stages_begun = 0;
    std::array<EndedStages, kStageRoles> ended{};  ///< By StageRole.
    std::uint64_t bytes_staged = 0;  ///< Brought to this node by stages that are ok.
    std::uint64_t bytes_pushed = 0;  ///< Of pushes from this node that are ok.
    /// Ok stages of jobs that took up to kStageSeconds, and more than the bucket before.
    std::array<std::uint64_t, kStageSeconds.size()> ok_within{};
    std::uint64_t stages_timed = 0;       ///< Ok, and announced by the plugin of this node.
    std::uint64_t ok_ms = 0;              ///< Milliseconds of these, announced to settled.
    std::uint64_t control_refused = 0;    ///< Not root, or no sense in it.
    std::uint64_t links_refused = 0;      ///< Strangers at the TCP port.
    std::uint64_t messages_refused = 0;   ///< Of a daemon that may not say that.
    std::uint64_t hosts_replaced = 0;     ///< PMIx hosts that were wedged or died.
    std::uint64_t workers_killed = 0;     ///< That did not leave in time.
    std::uint64_t directories_swept = 0;  ///< Left by jobs that nobody ended.
    std::uint64_t cache_hits = 0;         ///< Files that a stage was given.
    std::uint64_t cache_kept = 0;
    std::uint64_t cache_parts = 0;    ///< Of which a part was kept.
    std::uint64_t cache_fetched = 0;  ///< From other nodes.
    std::uint64_t cache_evicted = 0;
};

}  // namespace stage

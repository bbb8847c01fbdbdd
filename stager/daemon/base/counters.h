// How often did what should be rare happen?
//
// Since the daemon's start. Logged at its end, and exported (metrics.h).
#pragma once

#include <cstdint>

namespace stage {

struct Counters {
    std::uint64_t stages_begun = 0;
    std::uint64_t stages_ok = 0;
    std::uint64_t stages_failed = 0;
    std::uint64_t bytes_staged = 0;       ///< Of stages that are ok.
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

// Counts the daemon's events since its start.
//
// The counts are logged when the daemon ends, and exported (metrics.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

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

/// Nodes whose failures are counted by name; those of further nodes are counted together.
inline constexpr std::size_t kCulpritsMax = 256;

/// Upper bounds, in seconds, of how long a job's stage takes; what takes longer is in none.
inline constexpr std::array<std::uint64_t, 11> kStageSeconds{
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200};

/// What workers here counted. They are users' processes, so each stage adds at most
/// kWorkerCountMax to a number: made-up ones can't have it begin again at 0.
struct WorkerCounts {
    std::array<std::uint64_t, 4> by_fabric{};  ///< Workers, by kCountedFabrics.
    std::uint64_t unreached = 0;               ///< Workers that did not hear their group.
    std::uint64_t bytes_here = 0;              ///< Bytes that were on this node already.
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t packets_lost = 0;
    std::uint64_t packets_repaired = 0;
    std::uint64_t packets_rejected = 0;
};
inline constexpr std::array<std::string_view, 4> kCountedFabrics{"udp", "tcp", "verbs", "hop"};
inline constexpr std::uint64_t kWorkerCountMax = 1ULL << 44U;

struct Counters {
    std::uint64_t stages_begun = 0;
    std::array<EndedStages, kStageRoles> ended{};  ///< By StageRole.
    /// Counts failures of stages which began here, by node's name, without users' errors.
    std::map<std::string, std::uint64_t> node_failures;
    std::uint64_t other_node_failures = 0;  ///< Failures of nodes beyond kCulpritsMax.
    WorkerCounts workers;
    std::uint64_t bytes_staged = 0;  ///< Bytes of successful stages, to this node.
    std::uint64_t bytes_pushed = 0;  ///< Bytes of successful pushes from this node.
    /// Successful stages of jobs that took up to kStageSeconds, and more than the bucket
    /// before.
    std::array<std::uint64_t, kStageSeconds.size()> ok_within{};
    std::uint64_t stages_timed = 0;       ///< Successful, and announced by this node's plugin.
    std::uint64_t ok_ms = 0;              ///< Milliseconds from their announcements to results.
    std::uint64_t control_refused = 0;    ///< Requests that are malformed or not permitted.
    std::uint64_t links_refused = 0;      ///< Unauthorised peers at the TCP port.
    std::uint64_t messages_refused = 0;   ///< Messages that the daemon may not send.
    std::uint64_t hosts_replaced = 0;     ///< PMIx hosts that hung or crashed.
    std::uint64_t workers_killed = 0;     ///< Workers that did not end in time.
    std::uint64_t directories_swept = 0;  ///< Directories of jobs whose end was missed.
    std::uint64_t cache_hits = 0;         ///< Files that a stage took from the cache.
    std::uint64_t cache_kept = 0;
    std::uint64_t cache_parts = 0;    ///< Files of which a part was kept.
    std::uint64_t cache_fetched = 0;  ///< Files fetched from other nodes.
    std::uint64_t cache_evicted = 0;
};

}  // namespace stage

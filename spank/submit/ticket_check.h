// Checks at submission that files of another cluster have a ticket that is good for them.
//
// Only the other cluster can tell whether it has issued the ticket; what the ticket says of
// itself is checked here, so that a job does not wait in the queue in vain.
#pragma once

#include "stager/spec/stage_spec.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stage {

/// The cluster that has the sources; empty: they are here. Fails (Blame::user) unless all of
/// them lie in one cluster.
[[nodiscard]] Result<std::string> cluster_of_all(std::span<const StageSpec> specs);

/// What a ticket must be good for.
struct TicketUse {
    std::string_view text;     ///< --stage-ticket
    std::string_view cluster;  ///< This one, by ClusterName; empty: not known here.
    std::uint32_t uid = 0;
    std::uint64_t now = 0;  ///< Seconds since the epoch.
};

/// Fails (Blame::user) unless the ticket says that it is for that user of this cluster, for
/// each source, and has not expired. `specs`: of one other cluster.
[[nodiscard]] Status check_ticket(const TicketUse& use, std::span<const StageSpec> specs);

}  // namespace stage

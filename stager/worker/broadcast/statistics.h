// Counts a member's part in a broadcast: as a value for the daemon, and as a line of JSON for a
// program that starts a worker without one.
#pragma once

#include "stager/messages/worker_setup.h"
#include "stager/worker/broadcast/work.h"

#include <string>

namespace stage {

struct Measured {
    Rank rank;
    std::size_t members = 1;
    std::size_t rails = 1;             ///< Interfaces that carried the group's packets.
    std::uint32_t receive_buffer = 0;  ///< Granted by the kernel for the group's socket, bytes.
    /// The size that this process requested, bytes; the kernel grants up to twice that, for its
    /// own overhead. 0: none was requested.
    std::uint32_t buffer_asked = 0;
    std::vector<std::string> unreached{};  ///< Members that multicast did not reach.
    bool broadcasts = false;               ///< The group is all hosts of the LAN.
};

/// The progress that the daemon receives during the broadcast and with the outcome.
[[nodiscard]] WorkerProgress progress_of(const Work& work, const core::Outcome& outcome);

/// Counts the part so far, or at the end. `rails`: interfaces that carry the group's packets.
[[nodiscard]] WorkerStatistics statistics_of(const Work& work,
                                             const BroadcastReport& report,
                                             std::size_t rails);

/// {"rank":1,"bytes":...,"seconds":...,...}, without a newline. docs: README, "The engine
/// alone".
[[nodiscard]] std::string statistics_line(const Measured& measured,
                                          const Work& work,
                                          const BroadcastReport& report);

}  // namespace stage

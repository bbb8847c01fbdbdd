// What did this member's part amount to, for a person or a program to read?
//
// One line of JSON, the same whoever started the worker.
#pragma once

#include "stager/messages/worker_setup.h"
#include "stager/worker/broadcast/work.h"

#include <string>

namespace stage {

struct Measured {
    Rank rank;
    std::size_t members = 1;
    std::size_t rails = 1;             ///< Interfaces that the group's packets took.
    std::uint32_t receive_buffer = 0;  ///< What the kernel granted the group's socket, bytes.
    /// What this process asked for; the kernel grants up to twice that, for its own share. 0:
    /// the daemon asked.
    std::uint32_t buffer_asked = 0;
};

/// What its daemon hears under way, and with the outcome.
[[nodiscard]] WorkerProgress progress_of(const Work& work, const core::Outcome& outcome);

/// {"rank":1,"bytes":...,"seconds":...,...}, without a newline. docs: README, "The engine
/// alone".
[[nodiscard]] std::string statistics_line(const Measured& measured,
                                          const Work& work,
                                          const BroadcastReport& report);

}  // namespace stage

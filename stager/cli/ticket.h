// The command `stagecast ticket`: gets a ticket for files, for jobs on another cluster
// (stager/spec/ticket.h).
#pragma once

#include "stager/control/message.h"

#include <span>
#include <string>

namespace stage {

struct TicketOptions {
    std::string config;
    TicketRequest request;  ///< Its paths are absolute and plain.
};

/// `here`: the working directory; `uid`: the user's on this cluster. An error means wrong
/// usage.
[[nodiscard]] Result<TicketOptions> parse_ticket_options(std::span<char* const> words,
                                                         const std::string& here,
                                                         std::uint32_t uid);

/// Prints the ticket, and returns the exit status.
[[nodiscard]] int run_ticket(std::span<char* const> words);

}  // namespace stage

// What did this member's part amount to, for a person or a program to read?
//
// One line of JSON, the same whoever started the worker.
#pragma once

#include "stager/worker/work.h"

#include <string>

namespace stage {

struct Measured {
    Rank rank;
    std::size_t members = 1;
    std::uint32_t receive_buffer = 0;  ///< What the kernel granted the group's socket, bytes.
};

/// {"rank":1,"bytes":...,"seconds":...,...}, without a newline. docs: README, "The engine
/// alone".
[[nodiscard]] std::string statistics_line(const Measured& measured,
                                          const Work& work,
                                          const BroadcastReport& report);

}  // namespace stage

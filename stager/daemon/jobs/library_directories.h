// Adds to a verdict what leads programs to the libraries that a stage placed.
//
// Entries for the job's LD_LIBRARY_PATH, each with a slash at its end, stand behind the paths.
// The worker names them: only it has seen whose the libraries are, and whether any is there.
#pragma once

#include "stager/control/message.h"

#include <string>
#include <vector>

namespace stage {

/// As many of `directories` as the message has room for; none that has no slash at its end.
void add_library_directories(Verdict& verdict, const std::vector<std::string>& directories);

}  // namespace stage

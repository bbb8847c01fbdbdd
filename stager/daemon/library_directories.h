// Adds to a verdict the directories that a stage placed libraries in.
//
// They stand behind the paths, each with a slash at its end, for the job's LD_LIBRARY_PATH. The
// worker names them: only it has seen whose they are, and whether a library is there at all.
#pragma once

#include "stager/control/message.h"

#include <string>
#include <vector>

namespace stage {

/// As many of `directories` as the message has room for; none that has no slash at its end.
void add_library_directories(Verdict& verdict, const std::vector<std::string>& directories);

}  // namespace stage

// Adds the directories of staged libraries to a verdict.
//
// They become entries of the job's LD_LIBRARY_PATH. In the verdict they follow the paths, each
// with a slash at its end. The worker names them, because only it has seen who owns the
// libraries, and whether there are any.
#pragma once

#include "stager/control/message.h"

#include <string>
#include <vector>

namespace stage {

/// Adds as many of `directories` as the message has room for; none without a slash at its end.
void add_library_directories(Verdict& verdict, const std::vector<std::string>& directories);

}  // namespace stage

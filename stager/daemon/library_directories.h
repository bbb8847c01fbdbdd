// Which directories of libraries did a stage bring?
//
// Those beside the programs of its specs that said `libs`. They stand behind the paths of a
// verdict, each with a slash at its end, for the job's LD_LIBRARY_PATH.
#pragma once

#include "stager/control/message.h"

#include <string_view>

namespace stage {

/// `specs`: the job's, as they travel. As many as the message has room for.
void add_library_directories(Verdict& verdict, std::string_view specs);

}  // namespace stage

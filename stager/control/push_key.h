// By what is a push known, which has no job?
#pragma once

#include "stager/control/message.h"

namespace stage {

/// Another one each time, fresh from getrandom(): of a push, and of each of its rounds.
[[nodiscard]] StageKey random_push_key();

}  // namespace stage

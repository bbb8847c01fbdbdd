// Checks whether munge works on this node. It blocks as long as libmunge does.
#pragma once

#include "transport/base/result.h"

#include <string>

namespace stage {

/// Seals a few bytes and opens them again. `socket`: munged's, empty for libmunge's own.
/// Returns a message for the user; an error names the remedy.
[[nodiscard]] Result<std::string> seal_and_open(const std::string& socket);

}  // namespace stage

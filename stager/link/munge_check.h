// Does munge work here at all? For a person who waits: it blocks as long as libmunge does.
#pragma once

#include "transport/base/result.h"

#include <string>

namespace stage {

/// Seals a few bytes and opens them again. `socket`: munged's, empty for libmunge's own. A
/// sentence of what was found; fails with one that names the remedy.
[[nodiscard]] Result<std::string> seal_and_open(const std::string& socket);

}  // namespace stage

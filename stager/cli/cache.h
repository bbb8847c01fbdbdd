// The command `stagecast cache`: lists, verifies and removes entries of this node's cache.
//
// It needs root and works on the directory itself, also while stagecastd is stopped. A running
// daemon notices a removed entry when it looks it up.
#pragma once

#include <span>

namespace stage {

/// Runs `stagecast cache ls|rm|verify ...`; `words` follow "cache". Returns the exit code.
[[nodiscard]] int run_cache(std::span<char* const> words);

}  // namespace stage

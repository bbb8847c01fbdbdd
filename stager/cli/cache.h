// What is in this node's cache, and is it what it says?
//
// For root, on the directory itself: also while stagecastd is stopped. A running one notices
// what was removed when it looks for it.
#pragma once

#include <span>

namespace stage {

/// `stagecast cache ls|rm|verify ...`, the words after "cache". The exit code.
[[nodiscard]] int run_cache(std::span<char* const> words);

}  // namespace stage

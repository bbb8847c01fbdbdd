// Decides which members of a directory an `exclude=` leaves out.
//
// Patterns have rsync's meaning: without a slash a pattern matches the name of a file or
// directory anywhere in the tree; with one inside, the end of a path; with one in front, a path
// from the tree's top; with one at its end, only a directory. *, ? and [...] don't match a
// slash, but all of them do in a pattern with **. A backslash makes the next character literal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxExclusionBytes = 1024;
inline constexpr std::size_t kMaxExclusions = 64;  ///< Per spec.

/// True if one of `patterns` matches `path`, which is relative to the tree's top, "a/b".
[[nodiscard]] bool is_excluded(const std::vector<std::string>& patterns,
                               std::string_view path,
                               bool is_directory);

/// Why this is no pattern; empty if it is one.
[[nodiscard]] std::string_view reason_against_exclusion(std::string_view pattern);

}  // namespace stage

// Checks names of directory entries, and builds those of the files that stand beside a user's
// file while it is staged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stage {

inline constexpr std::size_t kMaxFileNameBytes = 255;  ///< NAME_MAX.

/// A name in a directory: no slash, not "." or "..".
[[nodiscard]] bool is_plain_name(std::string_view name);

/// '.', the name and the tail; where that is too long for a file system, the name's beginning
/// and a digest of all of it. Requires a tail of no more than 100 bytes.
[[nodiscard]] std::string hidden_name(const std::string& name, std::string_view tail);

/// `directory` has an entry of that name that belongs to another user.
[[nodiscard]] bool is_of_another(int directory, const std::string& name);
/// `temporary`, or, where another user has that name in `directory`, one with a random end.
[[nodiscard]] std::string free_name(int directory, const std::string& temporary);

}  // namespace stage

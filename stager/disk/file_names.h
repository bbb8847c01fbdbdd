// Checks names of directory entries, and builds the names of the temporary files that stand
// beside a user's file during staging.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stage {

inline constexpr std::size_t kMaxFileNameBytes = 255;  ///< NAME_MAX.

/// True for a name of a directory entry: it has no slash and is not "." or "..".
[[nodiscard]] bool is_plain_name(std::string_view name);

/// Returns '.', the name and the tail. If that is too long for a file system, the name is
/// replaced by its beginning and a digest of all of it. Requires a tail of at most 100 bytes.
[[nodiscard]] std::string hidden_name(const std::string& name, std::string_view tail);

/// True if `directory` has an entry of that name that belongs to another user.
[[nodiscard]] bool is_of_another(int directory, const std::string& name);
/// Returns `temporary`, or a name with a random end if another user has that name in
/// `directory`.
[[nodiscard]] std::string free_name(int directory, const std::string& temporary);

}  // namespace stage

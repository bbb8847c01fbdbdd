// Where does the group's key come from when no daemon brings it?
#pragma once

#include "transport/base/result.h"
#include "transport/seal/keys.h"

#include <optional>
#include <string>

namespace stage {

/// 32 bytes, or 64 hexadecimal digits. Fails (Blame::user) on anything else, and on a file that
/// others than its owner may read: a key that everybody has is none.
[[nodiscard]] Result<seal::GroupKey> read_key_file(const std::string& path);

/// 32 bytes, or 64 hexadecimal digits with or without a line's end; nothing for anything else.
[[nodiscard]] std::optional<seal::GroupKey> read_key(Bytes text);

}  // namespace stage

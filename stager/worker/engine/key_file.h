// Reads the group's key from a file, for a broadcast without daemons.
#pragma once

#include "transport/base/result.h"
#include "transport/seal/keys.h"

#include <optional>
#include <string>

namespace stage {

/// Accepts 32 bytes, or 64 hexadecimal digits. Fails (Blame::user) on anything else, and on a
/// file that users other than its owner can read: such a key is no longer secret.
[[nodiscard]] Result<seal::GroupKey> read_key_file(const std::string& path);

/// Parses 32 bytes, or 64 hexadecimal digits with or without a newline; nothing for other text.
[[nodiscard]] std::optional<seal::GroupKey> read_key(Bytes text);

}  // namespace stage

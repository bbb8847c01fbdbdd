// What is the digest of a whole staged content?
//
// XXH3-128 over the leaves of its file blocks in order (docs/protocol, 4): it can be
// told after blocks that came in any order, and is the same on every member.
#pragma once

#include "transport/base/checksum.h"

#include <span>
#include <string>

namespace stage {

/// 32 hexadecimal digits.
[[nodiscard]] std::string digest_of(std::span<const Digest128> leaves);

}  // namespace stage

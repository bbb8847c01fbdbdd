// Computes the digest of the whole staged content.
//
// It is XXH3-128 over the leaf digests of the file blocks in order (docs/protocol, 4), so it
// does not depend on the order of arrival and is the same on every member.
#pragma once

#include "transport/base/checksum.h"

#include <span>
#include <string>

namespace stage {

/// Formats the digest as 32 hexadecimal digits.
[[nodiscard]] std::string digest_of(std::span<const Digest128> leaves);

}  // namespace stage

// Computes digests of blocks and objects.
//
// XXH3-128 in its canonical (big-endian) form: the leaf digest of a block and, over the leaves,
// of a whole object. It detects accidents, not forgery: the packets that carry it are
// authenticated.
#pragma once

#include "transport/base/units.h"

#include <array>

namespace stage {

using Digest128 = std::array<std::byte, 16>;

[[nodiscard]] Digest128 xxh3_128(Bytes bytes);

}  // namespace stage

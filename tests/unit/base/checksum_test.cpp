#include "transport/base/checksum.h"

#include "tests/unit/hex.h"
#include "transport/base/codec.h"

#include <catch2/catch.hpp>

using namespace stage;

// xxHash's own: XXH3_128bits of nothing, canonical form.
TEST_CASE("a leaf digest is XXH3-128 in its canonical form") {
    CHECK(test::hex(xxh3_128({})) == "99aa06d3014798d86001c324468d497f");
    CHECK(xxh3_128(as_bytes("a")) != xxh3_128(as_bytes("b")));
    CHECK(xxh3_128(as_bytes("a")) == xxh3_128(as_bytes("a")));
}

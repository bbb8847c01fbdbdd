#include "transport/run/object/spill_file.h"

#include "tests/unit/files/scratch.h"
#include "transport/base/units.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <cstring>
#include <set>

namespace stage {
namespace {

TEST_CASE("buffers of a spill file are apart, and leave no name behind") {
    const test::Scratch scratch;
    if (!UniqueFd{::open(scratch.path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)}) {
        WARN("this disk has no files without a name");
        return;
    }
    SpillFile spill{scratch.path(), 20};
    CHECK(spill.bytes() == 0);
    std::set<std::byte*> taken;
    for (int i = 0; i < 20; ++i) {
        std::byte* const buffer = spill.take();
        REQUIRE(buffer != nullptr);
        std::memset(buffer, i + 1, kBlockBytes);
        taken.insert(buffer);
    }
    CHECK(taken.size() == 20);
    CHECK(spill.take() == nullptr);
    CHECK(spill.bytes() >= 20 * kBlockBytes);
    CHECK(scratch.names().empty());
    for (std::byte* const buffer : taken) {
        CHECK(buffer[0] == buffer[kBlockBytes - 1]);
    }
}

TEST_CASE("where no unnamed file can be made a spill file has no buffers") {
    SpillFile in_memory{"/dev/shm", 20};
    CHECK(in_memory.take() == nullptr);
    SpillFile nowhere{"/nonexistent", 20};
    CHECK(nowhere.take() == nullptr);
    SpillFile no_file{"/dev/null", 20};
    CHECK(no_file.take() == nullptr);
}

}  // namespace
}  // namespace stage

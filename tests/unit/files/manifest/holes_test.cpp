// Tests that a file's holes are found, and the largest if there are too many.
#include "stager/files/manifest/holes.h"

#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace stage {

TEST_CASE("of too many holes the smallest are treated as data") {
    const test::Scratch scratch;
    const std::string path = scratch.write("f", "");
    const UniqueFd file{::open(path.c_str(), O_RDWR)};
    constexpr std::uint64_t kUnit = 64U << 10U;  // No file system has larger blocks.
    const std::string data(kUnit, 'x');
    // Holes of 1, 3, 2, 5 and 4 units, one unit of data behind each.
    std::vector<TreeExtent> all;
    std::uint64_t at = 0;
    for (const std::uint64_t hole : {1U, 3U, 2U, 5U, 4U}) {
        at += hole * kUnit;
        all.push_back({.offset = at, .length = kUnit});
        REQUIRE(::pwrite(file.get(), data.data(), data.size(), static_cast<off_t>(at)) ==
                static_cast<ssize_t>(data.size()));
        at += kUnit;
    }
    const auto extents = extents_of(file.get(), at);
    if (!extents) {
        WARN("no holes on this file system");
        return;
    }
    CHECK(*extents == all);
    CHECK(*extents_of(file.get(), at, 5) == all);
    // The hole of 2 units first, then that of 3; the one at the beginning is always kept.
    all[1].length = 4 * kUnit;
    all.erase(all.begin() + 2);
    CHECK(*extents_of(file.get(), at, 4) == all);
    all[0].length = 8 * kUnit;
    all.erase(all.begin() + 1);
    CHECK(*extents_of(file.get(), at, 3) == all);
    CHECK(extents_of(file.get(), at, 1)->size() == 1);
}

}  // namespace stage

#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <array>

using namespace stage;

namespace {

bool is_open(int fd) {
    return ::fcntl(fd, F_GETFD) >= 0;
}

}  // namespace

TEST_CASE("a descriptor is closed by its last owner, once") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    UniqueFd reader{ends[0]};
    {
        const UniqueFd writer{ends[1]};
        CHECK(is_open(ends[1]));
    }
    CHECK_FALSE(is_open(ends[1]));
    UniqueFd moved{std::move(reader)};
    CHECK(moved.get() == ends[0]);
    const int given = moved.release();
    CHECK_FALSE(moved);
    CHECK(is_open(given));
    moved.reset(given);
    moved.reset();
    CHECK_FALSE(is_open(given));
}

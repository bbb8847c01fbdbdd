// Tests that members detect a shared directory, in any order.
#include "stager/files/target/claim.h"

#include "tests/unit/files/failing_call.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::said;
using test::Scratch;

Claims claim(const std::string& root, std::uint32_t rank, std::uint32_t size) {
    Claims claims;
    claims.prepare({.root = root, .below = "x"},
                   {.job = "42", .rank = rank, .group_size = size});
    claims.make();
    return claims;
}

}  // namespace

TEST_CASE("in a shared directory every member fails, in every order") {
    const Scratch shared;
    std::vector<std::uint32_t> order{0, 1, 2, 3};
    do {
        std::vector<Claims> members;
        for (std::uint32_t rank = 0; rank < 4; ++rank) {
            members.push_back(claim(shared.path(), rank, 4));
        }
        CHECK(shared.names().size() == 4);
        for (const std::uint32_t rank : order) {
            CHECK_THAT(said(members[rank].settle()), Contains("other nodes of the job share"));
        }
        CHECK(shared.names().empty());
    } while (std::next_permutation(order.begin(), order.end()));
}

// Lustre without -o flock, and some FUSE file systems.
TEST_CASE("where there are no locks a claim goes as it came") {
    const Scratch place;
    CHECK(test::said_where_call_fails(SYS_flock, ENOSYS, [&] {
              return said(claim(place.path(), 1, 2).settle());
          }) == "ok");
    CHECK(place.names().empty());
}

TEST_CASE("claims in a directory that others may write do not tell the name, and meet there") {
    const Scratch shared;
    REQUIRE(::chmod(shared.path().c_str(), 01777) == 0);
    Claims first = claim(shared.path(), 0, 2);
    Claims second = claim(shared.path(), 1, 2);
    REQUIRE(shared.names().size() == 2);
    for (const std::string& name : shared.names()) {
        CHECK_THAT(name, !Contains("x.stagecast"));
    }
    CHECK_THAT(said(first.settle()), Contains("other nodes of the job share"));
    CHECK_THAT(said(second.settle()), Contains("other nodes of the job share"));
    CHECK(shared.names().empty());
}

TEST_CASE("the paths of all claims are known before the first is made") {
    const Scratch place;
    Claims claims;
    for (const char* name : {"x", "y"}) {
        claims.prepare({.root = place.path(), .below = name},
                       {.job = "42", .rank = 1, .group_size = 2});
    }
    const std::vector<std::string> paths = claims.paths();
    CHECK(paths ==
          std::vector{place.path(".x.stagecast.42.1"), place.path(".y.stagecast.42.1")});
    CHECK(place.names().empty());
    claims.make();
    CHECK(place.names().size() == 2);
    CHECK(claims.paths() == paths);
}

TEST_CASE("separate directories are accepted, and stay unchanged") {
    const Scratch one;
    const Scratch other;
    Claims first = claim(one.path(), 0, 2);
    Claims second = claim(other.path(), 1, 2);
    CHECK(said(first.settle()) == "ok");
    CHECK(said(second.settle()) == "ok");
    CHECK(one.names().empty());
    CHECK(other.names().empty());
}

TEST_CASE("a claim left by a killed member has no effect, and is removed") {
    const Scratch place;
    place.write(".x.stagecast.42.1", "left behind");
    place.write(".x.stagecast.42.0", "left behind");
    Claims own = claim(place.path(), 0, 2);
    CHECK(said(own.settle()) == "ok");
    CHECK(place.names() == std::vector<std::string>{".x.stagecast.42.1"});
}

TEST_CASE("another user at work under the names of the group does not look like a neighbour",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch place;
    std::vector<UniqueFd> locked;
    for (const char* name : {".x.stagecast.42.0", ".x.stagecast.42.1"}) {
        const std::string path = place.write(name, "");
        REQUIRE(::chown(path.c_str(), 4242, 4242) == 0);
        locked.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        REQUIRE(::flock(locked.back().get(), LOCK_EX | LOCK_NB) == 0);
    }
    Claims own = claim(place.path(), 0, 2);
    CHECK(own.paths().empty());
    REQUIRE(::unlink(place.path(".x.stagecast.42.0").c_str()) == 0);
    Claims again = claim(place.path(), 0, 2);
    CHECK(again.paths().size() == 1);
    CHECK(said(again.settle()) == "ok");
    CHECK(place.names() == std::vector<std::string>{".x.stagecast.42.1"});
}

TEST_CASE("a claim that ends early, or that can't be made, leaves nothing") {
    const Scratch place;
    {
        const Claims own = claim(place.path(), 0, 2);
        CHECK(place.names().size() == 1);
    }
    CHECK(place.names().empty());
    Claims absent = claim(place.path("absent"), 0, 2);
    CHECK(said(absent.settle()) == "ok");
    const Scratch elsewhere;
    REQUIRE(::symlink(elsewhere.path("victim").c_str(),
                      place.path(".x.stagecast.42.0").c_str()) == 0);
    Claims leftover = claim(place.path(), 0, 2);
    CHECK(said(leftover.settle()) == "ok");
    CHECK(elsewhere.names().empty());
}

}  // namespace stage

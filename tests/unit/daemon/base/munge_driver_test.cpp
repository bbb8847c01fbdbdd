// Tests that munge's helper is replaced, and other questions are answered all the same.
#include "stager/daemon/base/munge_driver.h"

#include "stager/daemon/base/children.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <sys/epoll.h>

namespace stage {
namespace {

/// Takes one question, and dies of it.
int die_of_a_question(int fd) {
    std::array<std::byte, 64> question{};
    return ::recv(fd, question.data(), question.size(), 0) > 0 ? 1 : 0;
}

}  // namespace

TEST_CASE(
    "a descriptor opened when munge's helper dies is watched as its own, not as the helper's",
    "[root]") {
    if (!is_root()) {
        return;
    }
    const bool at_once = GENERATE(true, false);  // In its own callback, or later in the round.
    CAPTURE(at_once);
    ServicesWorld world{{die_of_a_question}};
    const Logger quiet{[](LogLevel, std::string_view) {}, LogLevel::error};
    MungeDriver driver{world.loop(), world.services->basics.children, quiet, 0};
    driver.before_wait();
    const int helper = driver.client().fd();
    REQUIRE(helper >= 0);
    std::vector<UniqueFd> lower;  // So that the helper's number is the next one to be had.
    do {
        lower.emplace_back(::dup(STDERR_FILENO));
    } while (lower.back().get() < helper);
    std::optional<Pipe> pipe;
    bool is_called = false;
    const auto open = [&] {
        pipe.emplace();
        REQUIRE(::write(pipe->in.get(), "x", 1) == 1);
        REQUIRE(world.loop().watch(pipe->out.get(), EPOLLIN, [&](auto) {
            is_called = true;
            world.loop().forget(pipe->out.get());
        }));
    };
    driver.client().seal("n3", as_bytes("a question"), [&](const Result<std::string>& sealed) {
        CHECK_FALSE(sealed);
        at_once ? open() : world.loop().defer(open);
    });
    world.loop().before_wait([&] { driver.before_wait(); });
    world.run_until([&] { return is_called; });
    world.loop().before_wait([] {});
}

}  // namespace stage

#include "pmix/aside.h"

#include <catch2/catch.hpp>

#include <poll.h>

#include <cerrno>

namespace stage {
namespace {

constexpr WaitLimit kEndless{.longest = std::chrono::hours{1}};

TEST_CASE("a call's answer or error comes back") {
    const auto answer =
        call_with_timeout<int>(kEndless, "asking", [] { return Result<int>{42}; });
    REQUIRE(answer);
    CHECK(*answer == 42);
    const auto error = call_with_timeout<int>(kEndless, "asking", [] {
        return Result<int>{Error{Blame::user, "no"}};
    });
    REQUIRE_FALSE(error);
    CHECK(error.error().sentence() == "no");
}

/// Blocks until released, as a library does on a stuck server.
struct Hanging {
    std::shared_ptr<UniqueFd> release = std::make_shared<UniqueFd>(make_event());

    Result<int> operator()() const {
        pollfd watched{.fd = release->get(), .events = POLLIN, .revents = 0};
        static_cast<void>(::poll(&watched, 1, -1));
        return 1;
    }
};

TEST_CASE("a call that hangs is left behind") {
    const Hanging call;
    const auto answer =
        call_with_timeout<int>({.longest = std::chrono::milliseconds{1500}}, "asking", call);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().cause() == ETIMEDOUT);
    CHECK(answer.error().sentence() == "asking: no answer within 1.5 s");
    set_event(*call.release);
}

TEST_CASE("a call that hangs is interrupted") {
    const Hanging call;
    const UniqueFd event = make_event();
    set_event(event);
    const auto answer = call_with_timeout<int>(
        {.longest = std::chrono::hours{1}, .interrupt_fd = event.get()}, "asking", call);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().cause() == ECANCELED);
    set_event(*call.release);
}

}  // namespace
}  // namespace stage

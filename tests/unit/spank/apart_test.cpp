#include "spank/host/apart.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <csignal>

using namespace stage;
using namespace std::chrono_literals;

TEST_CASE("work done apart reports how it went") {
    CHECK(run_in_child([] { return Status{}; }, 20s));
    const Status failed = run_in_child(
        [] {
            return Status{Error{Blame::user, "no such file"}};
        },
        20s);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().blame() == Blame::user);
    CHECK(failed.error().sentence() == "no such file");
}

TEST_CASE("work that crashes, fails or hangs harms no other process") {
    const Status crashed = run_in_child(
        [] {
            static_cast<void>(std::raise(SIGSEGV));
            return Status{};
        },
        20s);
    REQUIRE_FALSE(crashed);
    CHECK_THAT(crashed.error().sentence(), Catch::Contains("signal 11"));
    CHECK_FALSE(run_in_child([]() -> Status { throw 1; }, 20s));
    CHECK_FALSE(run_in_child([]() -> Status { ::_exit(3); }, 20s));
    const Status hung = run_in_child(
        [] {
            ::pause();
            return Status{};
        },
        30ms);
    REQUIRE_FALSE(hung);
    CHECK_THAT(hung.error().sentence(), Catch::Contains("too long"));
}

TEST_CASE("a long sentence arrives cut, not lost") {
    const Status failed = run_in_child(
        [] {
            return Status{Error{Blame::node, std::string(9000, 'x')}};
        },
        20s);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().sentence().size() >= 4000);
}

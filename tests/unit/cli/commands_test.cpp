// Tests running several programs at once, with input, output and time limits.
#include "stager/cli/common/commands.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <unistd.h>

#include <array>
#include <optional>

using namespace stage;
using namespace std::chrono_literals;

namespace {

std::vector<Ended> run(const std::vector<Command>& commands,
                       CommandLimits limits = {.longest = 60s}) {
    auto ended = run_commands(commands, limits);
    REQUIRE(ended);
    REQUIRE(ended->size() == commands.size());
    return *std::move(ended);
}

Command shell(const std::string& script) {
    return {.words = {"sh", "-c", script}, .input = {}};
}

}  // namespace

TEST_CASE("each command is fed its own input and heard on both of its ends") {
    const std::string much(300'000, 'x');
    const auto ended =
        run({{.words = {"cat"}, .input = much}, shell("echo out; echo err >&2; exit 3")});
    CHECK(ended[0].out == much);
    CHECK(ended[0].code == 0);
    CHECK(ended[1].out == "out\n");
    CHECK(ended[1].err == "err\n");
    CHECK(ended[1].code == 3);
    CHECK_FALSE(ended[1].was_ended);
}

TEST_CASE("a program that is not there is no reason to stop the others") {
    const auto ended = run({{.words = {"/no/such/program"}, .input = "x"}, shell("echo here")});
    CHECK(ended[0].code == kNotStarted);
    CHECK(ended[0].err.find("No such file") != std::string::npos);
    CHECK(ended[1].out == "here\n");
}

TEST_CASE("a command is killed at its time limit, and all of them on a stop") {
    const auto late = run({shell("exec sleep 600"), shell("echo quick")}, {.longest = 1ms});
    CHECK(late[0].was_ended);
    CHECK(late[0].code == 128 + 15);
    const auto stopped =
        run({shell("exec sleep 600")}, {.longest = 600s, .stops = [] { return true; }});
    CHECK(stopped[0].was_ended);
}

TEST_CASE("a command's children end with it") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);  // Inherited: open for as long as the child lives.
    const auto ended = run({shell("sleep 600 & exec sleep 600")}, {.longest = 50ms});
    CHECK(ended[0].was_ended);
    ::close(ends[1]);
    pollfd end{.fd = ends[0], .events = POLLIN, .revents = 0};
    CHECK(::poll(&end, 1, 20'000) == 1);
    ::close(ends[0]);
}

TEST_CASE("once the first has ended the others have only so long") {
    const auto ended =
        run({shell("true"), shell("exec sleep 600")}, {.longest = 600s, .after_first = 1ms});
    CHECK_FALSE(ended[0].was_ended);
    CHECK(ended[1].was_ended);
}

TEST_CASE("commands get the end of their input once all have put out enough") {
    const auto answer = [](const std::vector<Ended>& so_far) -> std::optional<std::string> {
        const bool is_enough = so_far[0].out == "a1\n" && so_far[1].out == "b1\n";
        return is_enough ? std::optional<std::string>{"2\n"} : std::nullopt;
    };
    const auto script = [](const std::string& name) {
        Command command = shell("read x; echo " + name + "$x; read y; echo $y; cat");
        command.input = "1\n";
        return command;
    };
    const auto ended = run({script("a"), script("b")}, {.longest = 60s, .last_input = answer});
    CHECK(ended[0].out == "a1\n2\n");
    CHECK(ended[1].out == "b1\n2\n");
    CHECK(ended[1].is_over);
    CHECK_FALSE(ended[1].was_ended);
}

TEST_CASE("a command that ends is seen to be over while others wait for their input") {
    bool was_seen = false;
    const auto ended =
        run({shell("exec cat"), shell("echo gone; exit 4")},
            {.longest = 60s, .last_input = [&](const std::vector<Ended>& so_far) {
                 was_seen = so_far[1].is_over && so_far[1].out == "gone\n" &&
                            so_far[1].code == 4 && !so_far[0].is_over;
                 return was_seen ? std::optional<std::string>{""} : std::nullopt;
             }});
    CHECK(was_seen);
    CHECK(ended[0].code == 0);
    CHECK_FALSE(ended[0].was_ended);
}

TEST_CASE("with nothing more to read a command has only so long") {
    const auto nothing = [](const std::vector<Ended>&) { return std::optional{std::string{}}; };
    const auto ended = run({shell("exec sleep 600"), shell("exec sleep 600")},
                           {.longest = 600s, .after_first = 1ms, .last_input = nothing});
    CHECK(ended[0].was_ended);
    CHECK(ended[1].was_ended);
}

#include "stager/control/shared_call.h"

#include "tests/unit/control/false_daemon.h"

#include <catch2/catch.hpp>

#include <sys/wait.h>

using namespace stage;
using namespace std::chrono_literals;

namespace {

constexpr CallTimeouts kWhole{.connect = 20s, .answer = 20s};

/// A verdict of more bytes than a socket holds.
Verdict long_verdict() {
    Verdict verdict{.state = VerdictState::ok, .stage_dir = "/stage/7"};
    verdict.paths.assign(100, "/stage/7/" + std::string(3000, 'x'));
    return verdict;
}

bool is_right(const Result<Answer>& answer) {
    return answer && std::holds_alternative<Verdict>(*answer) &&
           std::get<Verdict>(*answer) == long_verdict();
}

}  // namespace

TEST_CASE("one answer is every forked process's, and the first one's") {
    const FalseDaemon listener;
    const auto daemon = listener.answering(framed(encode(long_verdict())));
    const auto call = SharedCall::begin(listener.path(), QueryRequest{}, kWhole);
    REQUIRE(call);
    std::vector<pid_t> tasks;
    for (int i = 0; i < 8; ++i) {
        tasks.push_back(::fork());
        if (tasks.back() == 0) {
            ::_exit(is_right(call->answer()) ? 0 : 1);
        }
    }
    for (const pid_t task : tasks) {
        int status = 0;
        REQUIRE(::waitpid(task, &status, 0) == task);
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
    CHECK(is_right(call->answer()));
    CHECK(is_right(call->answer()));
}

TEST_CASE("an answer that breaks off is none to anybody") {
    const FalseDaemon listener;
    auto half = framed(encode(long_verdict()));
    half.resize(half.size() / 2);
    const auto daemon = listener.answering(half);
    const auto call = SharedCall::begin(listener.path(), QueryRequest{}, kWhole);
    REQUIRE(call);
    for (int i = 0; i < 3; ++i) {
        const auto answer = call->answer();
        REQUIRE_FALSE(answer);
        CHECK_THAT(answer.error().sentence(), Catch::Contains("closed the connection"));
    }
}

TEST_CASE("an answer in time is accepted by a process that was suspended meanwhile") {
    const FalseDaemon listener;
    const auto call = [&] {
        const auto daemon = listener.answering(framed(encode(Answer{Ack{}})));
        return SharedCall::begin(
            listener.path(), QueryRequest{}, {.connect = 20s, .answer = Duration{1}});
    }();  // The daemon has answered, and the time for that is over.
    REQUIRE(call);
    CHECK(call->answer());
}

TEST_CASE("all processes wait for an unresponsive daemon until the same deadline") {
    const FalseDaemon listener;
    const auto call =
        SharedCall::begin(listener.path(), QueryRequest{}, {.connect = 20s, .answer = 30ms});
    REQUIRE(call);
    for (int i = 0; i < 3; ++i) {
        const auto answer = call->answer();
        REQUIRE_FALSE(answer);
        CHECK_THAT(answer.error().sentence(), Catch::Contains("timed out"));
    }
    CHECK_FALSE(SharedCall::begin("/nonexistent/socket", QueryRequest{}, kWhole));
}

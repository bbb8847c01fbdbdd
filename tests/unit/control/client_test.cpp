#include "stager/control/client.h"

#include "tests/unit/control/false_daemon.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace std::chrono_literals;

namespace {

constexpr CallTimeouts kLong{.connect = 20s, .answer = 20s};
constexpr CallTimeouts kShort{.connect = 20s, .answer = 30ms};

std::string failure(const Result<Answer>& answer) {
    REQUIRE_FALSE(answer);
    CHECK(answer.error().blame() == Blame::node);
    return answer.error().sentence();
}

}  // namespace

TEST_CASE("a daemon is asked and answers") {
    const FalseDaemon listener;
    const Verdict verdict{.state = VerdictState::ok, .stage_dir = "/stage/7"};
    const auto daemon = listener.answering(framed(encode(verdict)));
    const auto answer = ask_daemon(listener.path(), QueryRequest{}, kLong);
    REQUIRE(answer);
    CHECK(std::get<Verdict>(*answer) == verdict);
}

TEST_CASE("a daemon that is not there is named with its socket") {
    CHECK_THAT(failure(ask_daemon("/nonexistent/socket", PingRequest{}, kLong)),
               Catch::Contains("stagecastd does not answer at /nonexistent/socket") &&
                   Catch::Contains("is stagecastd running"));
    FalseDaemon listener;
    listener.stop();
    CHECK_THAT(failure(ask_daemon(listener.path(), PingRequest{}, kLong)),
               Catch::Contains("Connection refused"));
    CHECK_THAT(failure(ask_daemon(std::string(200, 'x'), PingRequest{}, kLong)),
               Catch::Contains("too long"));
}

TEST_CASE("a daemon that takes the request and is silent costs a bounded time") {
    const FalseDaemon
        listener;  // the kernel accepts, no process answers: as when it is stopped
    CHECK_THAT(failure(ask_daemon(listener.path(), PingRequest{}, kShort)),
               Catch::Contains("timed out"));
}

TEST_CASE("a daemon whose queue is full costs a bounded time") {
    const FalseDaemon listener;
    std::vector<UniqueFd> others;
    const CallTimeouts timeouts{.connect = 30ms, .answer = 30ms};
    std::string sentence;
    for (int i = 0; i < 20; ++i) {
        sentence = failure(ask_daemon(listener.path(), PingRequest{}, timeouts));
    }
    CHECK_THAT(sentence, Catch::Contains("timed out"));
}

TEST_CASE("a daemon that ends before it has taken a request leaves it to the next one") {
    FalseDaemon old;
    const std::string path = old.path();
    constexpr CallTimeouts kThrough{.connect = 20s, .answer = 20s, .absent = 20s};
    std::optional<Result<Answer>> answer;
    std::jthread asking{[&] { answer = ask_daemon(path, PingRequest{}, kThrough); }};
    SECTION("it never took the connection") {
        old.await_client();
    }
    SECTION("it took the connection and read nothing") {
        old.take_and_close();
    }
    old.leave();
    const FalseDaemon next{path};
    const auto daemon = next.answering(framed(encode(Answer{Pong{"2"}})));
    asking.join();
    REQUIRE(*answer);
    CHECK(std::get<Pong>(**answer).version == "2");
}

TEST_CASE("a client that does not wait fails at once if its request was not read") {
    FalseDaemon old;
    std::optional<Result<Answer>> answer;
    std::jthread asking{[&] { answer = ask_daemon(old.path(), PingRequest{}, kLong); }};
    old.await_client();
    old.stop();
    asking.join();
    // Before or after it has said what it wants.
    CHECK_THAT(failure(*answer),
               Catch::Contains("Connection reset") || Catch::Contains("Broken pipe"));
}

TEST_CASE("an answer that breaks off or makes no sense is a failure") {
    const FalseDaemon listener;
    auto whole = framed(encode(Answer{Pong{"1"}}));
    SECTION("nothing") {
        whole.clear();
    }
    SECTION("half of it") {
        whole.resize(whole.size() - 1);
    }
    SECTION("an impossible length") {
        whole[0] = std::byte{0xff};
    }
    SECTION("another version") {
        whole[4] = std::byte{77};
    }
    SECTION("a request") {
        whole = framed(encode(Request{PingRequest{}}));
    }
    const auto daemon = listener.answering(whole);
    CHECK_FALSE(failure(ask_daemon(listener.path(), PingRequest{}, kLong)).empty());
}

#include "stager/daemon/control_server.h"

#include "stager/daemon/base/loop.h"
#include "tests/unit/daemon/run_until.h"
#include "tests/unit/root.h"
#include "tests/unit/scarce.h"
#include "tests/unit/scratch.h"
#include "transport/os/descriptors.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>

using namespace stage;
using namespace std::chrono_literals;

namespace {

constexpr uid_t kUntrusted = 65534;

UniqueFd connect_as(uid_t user, const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), &address.sun_path[0]);
    UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    static_cast<void>(::seteuid(user) == 0);
    const int done = ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    static_cast<void>(::seteuid(0) == 0);
    REQUIRE(done == 0);
    return fd;
}

/// A server whose every request is answered by `reply`, and one round trip through it.
class World {
  public:
    World() {
        static_cast<void>(::chmod(scratch_.path().c_str(), 0755));
        auto server = ControlServer::open(
            path_,
            *loop_,
            log_,
            counters_,
            [this](auto id, auto) {
                ++requests;
                if (!waits_for_gone) {
                    server_->answer(id, reply);
                }
            },
            [this](UniqueFd socket) {
                if (keeps_closed) {
                    closed.push_back(std::move(socket));
                }
            });
        REQUIRE(server);
        server_ = std::move(*server);
        server_->set_on_gone([this](auto id) { server_->answer(id, reply); });
    }

    /// What comes back for `bytes`, or nothing if the server hangs up.
    std::optional<Answer> ask(uid_t user, Bytes bytes) {
        const UniqueFd fd = connect_as(user, path_);
        REQUIRE(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0);
        if (waits_for_gone) {
            REQUIRE(::shutdown(fd.get(), SHUT_WR) == 0);
        }
        FrameReader reader{kMaxAnswerBytes};
        std::optional<Answer> answer;
        static_cast<void>(loop_->watch(fd.get(), 1U, [&](auto) {
            std::array<std::byte, 4096> buffer{};
            const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
            if (count > 0) {
                REQUIRE(reader.feed(Bytes{buffer}.first(static_cast<std::size_t>(count))));
                if (const auto message = reader.next()) {
                    answer = *decode_answer(*message);
                }
                return;
            }
            loop_->forget(fd.get());
            loop_->stop();
        }));
        loop_->run();
        loop_ = nullptr;  // One round trip a world: a stopped loop does not run again.
        return answer;
    }

    void run_until_closed(std::size_t count) {
        run_until(*loop_, [&] { return closed.size() == count; });
    }
    /// Waits until all connections are accepted and `count` requests have arrived.
    void await_requests(int count) {
        run_until(*loop_, [&] { return requests == count; });
    }
    /// Rounds of the loop in two tenths of a second.
    [[nodiscard]] int rounds() {
        int count = 0;
        bool is_over = false;
        loop_->before_wait([&count] { ++count; });
        loop_->after(200ms, [&is_over] { is_over = true; });
        run_until(*loop_, [&is_over] { return is_over; });
        loop_->before_wait([] {});
        return count;
    }
    [[nodiscard]] UniqueFd connect(uid_t user = 0) const { return connect_as(user, path_); }
    void remove_socket() { REQUIRE(::unlink(path_.c_str()) == 0); }
    void wait_for_socket() {
        run_until(*loop_, [this] { return has_socket(); });
    }
    [[nodiscard]] bool has_socket() const { return ::access(path_.c_str(), F_OK) == 0; }
    ControlServer& server() { return *server_; }

    int requests = 0;
    Answer reply = Ack{};
    bool waits_for_gone = false;  ///< A client closes its half before it is answered.
    bool keeps_closed = false;    ///< What the server has others close stays in `closed`.
    std::vector<UniqueFd> closed;
    Counters counters_;
    std::vector<std::string> log_lines;

  private:
    Scratch scratch_;
    std::string path_ = scratch_.path() + "/stagecastd.sock";
    std::unique_ptr<Loop> own_loop_ = std::make_unique<Loop>(std::move(*Loop::open()));
    Loop* loop_ = own_loop_.get();
    Logger log_{[this](LogLevel, std::string_view line) { log_lines.emplace_back(line); },
                LogLevel::warn};
    std::unique_ptr<ControlServer> server_;
};

/// Sends `bytes` with the writing end of a pipe beside them, whose reading end is returned: it
/// ends when the last descriptor is closed.
UniqueFd send_with_pipe(int socket, Bytes bytes, int flags) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    UniqueFd reading{ends[0]};
    const UniqueFd writing{ends[1]};
    REQUIRE(send_with_descriptors(socket, bytes, std::array{writing.get()}, flags).ok());
    return reading;
}

/// Whether any descriptor of the writing end is open.
bool has_writer(const UniqueFd& reading) {
    char byte = 0;
    return ::read(reading.get(), &byte, 1) < 0 && errno == EAGAIN;
}

std::vector<std::byte> said(const Request& request) {
    return framed(encode(request));
}

}  // namespace

TEST_CASE("root is answered", "[root]") {
    if (!is_root()) {
        return;
    }
    World world;
    CHECK(world.ask(0, said(EndRequest{.job_id = 7, .step_id = 0})) == Answer{Ack{}});
    CHECK(world.requests == 1);
    CHECK(world.counters_.control_refused == 0);
}

TEST_CASE("a socket that is removed is made again, a closed door's is not", "[root]") {
    if (!is_root()) {
        return;
    }
    World world;
    world.remove_socket();
    world.wait_for_socket();
    CHECK(world.log_lines.size() == 1);
    const UniqueFd client = world.connect();
    const std::vector<std::byte> question = said(PingRequest{});
    REQUIRE(::send(client.get(), question.data(), question.size(), MSG_NOSIGNAL) > 0);
    world.await_requests(1);
    world.server().close_socket();
    CHECK_FALSE(world.has_socket());
}

TEST_CASE("a client for which there is no descriptor waits, and the loop with it", "[root]") {
    if (!is_root()) {
        return;
    }
    World world;
    const UniqueFd client = world.connect();
    const std::vector<std::byte> question = said(PingRequest{});
    REQUIRE(::send(client.get(), question.data(), question.size(), MSG_NOSIGNAL) > 0);
    {
        const Scarce none{0};
        CHECK(world.rounds() < 400);  // Some 80; many thousands where it is accepted at once.
        CHECK(world.requests == 0);
    }
    world.await_requests(1);
}

TEST_CASE("an untrusted local user may PING, and nothing else", "[root]") {
    if (!is_root()) {
        return;
    }
    {
        World world;
        CHECK(world.ask(kUntrusted, said(PingRequest{})) == Answer{Ack{}});
        CHECK(world.counters_.control_refused == 0);
    }
    World world;
    const auto answer = world.ask(kUntrusted, said(EndRequest{.job_id = 7, .step_id = 0}));
    REQUIRE(answer);
    CHECK(std::holds_alternative<Refused>(*answer));
    CHECK(world.requests == 0);
    CHECK(world.counters_.control_refused == 1);
}

TEST_CASE("a user's descriptors are never received, and their socket is closed elsewhere",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const auto [before, flags] = GENERATE(
        std::pair{"", 0}, std::pair{"", static_cast<int>(MSG_OOB)}, std::pair{"\x01", 0});
    World world;
    world.keeps_closed = true;
    UniqueFd client = world.connect(kUntrusted);
    REQUIRE(::send(client.get(), before, std::string{before}.size(), MSG_NOSIGNAL) >= 0);
    const UniqueFd reading = send_with_pipe(client.get(), as_bytes("x"), flags);
    client.reset();
    world.run_until_closed(1);
    CHECK(has_writer(reading));
    world.closed.clear();
    CHECK_FALSE(has_writer(reading));
    CHECK(world.requests == 0);
    CHECK(world.counters_.control_refused == 1);
}

TEST_CASE("users' connections that get no place, and the backlog, are closed elsewhere",
          "[root]") {
    if (!is_root()) {
        return;
    }
    World world;
    world.keeps_closed = true;
    std::vector<UniqueFd> held;
    for (int i = 0; i < 16; ++i) {
        held.push_back(world.connect(kUntrusted));
    }
    const UniqueFd refused = send_with_pipe(world.connect(kUntrusted).get(), as_bytes("x"), 0);
    world.run_until_closed(1);
    CHECK(has_writer(refused));
    const UniqueFd waits = send_with_pipe(world.connect(kUntrusted).get(), as_bytes("x"), 0);
    world.server().close_socket();
    CHECK(has_writer(waits));
    CHECK(world.closed.size() == 1 + 1 + held.size());
}

TEST_CASE("nonsense is refused and counted, a length beyond all measure too", "[root]") {
    if (!is_root()) {
        return;
    }
    {
        World world;
        const auto answer = world.ask(0, framed(as_bytes("nonsense")));
        REQUIRE(answer);
        CHECK(std::holds_alternative<Refused>(*answer));
        CHECK(world.counters_.control_refused == 1);
    }
    World world;
    const auto answer = world.ask(0, as_bytes("\xff\xff\xff\xff"));
    REQUIRE(answer);
    CHECK(std::holds_alternative<Refused>(*answer));
    CHECK(world.requests == 0);
}

TEST_CASE("a client that has closed its half receives a long answer whole", "[root]") {
    if (!is_root()) {
        return;
    }
    World world;
    world.waits_for_gone = true;
    world.reply = Report{std::string(2'000'000, 'x')};
    const auto answer = world.ask(0, said(StatusRequest{}));
    REQUIRE(answer);
    CHECK(*answer == world.reply);
}

TEST_CASE("a client whose request is unread when the daemon ends is disconnected", "[root]") {
    if (!is_root()) {
        return;
    }
    World world;
    world.waits_for_gone = true;  // No request is answered.
    const UniqueFd heard = world.connect();
    const UniqueFd silent = world.connect();
    const auto request = said(PingRequest{});
    REQUIRE(::send(heard.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0);
    world.await_requests(1);
    const UniqueFd waits = world.connect();  // In the backlog, and has asked.
    REQUIRE(::send(waits.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0);
    world.server().close_socket();
    CHECK_FALSE(world.has_socket());
    std::array<std::byte, 16> buffer{};
    CHECK(::recv(waits.get(), buffer.data(), buffer.size(), MSG_DONTWAIT) < 0);
    CHECK(errno == ECONNRESET);
    CHECK(::send(silent.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0);
    CHECK(errno == EPIPE);
    CHECK(::recv(heard.get(), buffer.data(), buffer.size(), MSG_DONTWAIT) < 0);
    CHECK(errno == EAGAIN);  // Its answer is still pending.
    CHECK(world.requests == 1);
}

TEST_CASE("silent connections of one user take no other user's place", "[root]") {
    if (!is_root()) {
        return;
    }
    const uid_t user = GENERATE(kUntrusted - 1, 0);
    World world;
    std::vector<UniqueFd> held;
    for (int i = 0; i < 200; ++i) {
        held.push_back(world.connect(kUntrusted));
    }
    CHECK(world.ask(user, said(PingRequest{})) == Answer{Ack{}});
    CHECK(world.counters_.control_refused == 200 - 16);
}

TEST_CASE("silent connections of many uids do not keep another one out", "[root]") {
    if (!is_root()) {
        return;
    }
    const uid_t user = GENERATE(kUntrusted, 0);
    World world;
    std::vector<UniqueFd> held;
    for (uid_t i = 0; i < 300; ++i) {
        held.push_back(world.connect(10'000 + i / 10));
    }
    CHECK(world.ask(user, said(PingRequest{})) == Answer{Ack{}});
    CHECK(world.counters_.control_refused == (user == 0 ? 300 - 256 : 301 - 256));
}

TEST_CASE("silent connections of many uids end none of another uid's", "[root]") {
    if (!is_root()) {
        return;
    }
    World world;
    const UniqueFd first = world.connect(kUntrusted);
    std::vector<UniqueFd> held;
    for (uid_t i = 0; i < 300; ++i) {
        held.push_back(world.connect(10'000 + i / 16));
    }
    const auto bytes = said(PingRequest{});
    CHECK(world.ask(kUntrusted - 1, bytes) == Answer{Ack{}});
    REQUIRE(::send(first.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
    CHECK(::send(held.front().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0);
    CHECK(errno == EPIPE);
}

TEST_CASE("refusals are counted each, and logged now and then", "[root]") {
    if (!is_root()) {
        return;
    }
    World world;
    std::vector<UniqueFd> held;
    const auto bytes = said(EndRequest{.job_id = 7, .step_id = 0});
    for (int i = 0; i < 10; ++i) {
        held.push_back(world.connect(kUntrusted));
        REQUIRE(::send(held.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
    }
    CHECK(world.ask(kUntrusted, bytes));
    CHECK(world.counters_.control_refused == 11);
    CHECK(world.log_lines.size() == 1);
}

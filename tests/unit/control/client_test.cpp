#include "stager/control/client.h"

#include "stager/control/frame.h"
#include "transport/base/unique_fd.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

using namespace stage;
using namespace std::chrono_literals;

namespace {

constexpr Patience kLong{.connect = 20s, .answer = 20s};
constexpr Patience kShort{.connect = 20s, .answer = 30ms};

/// A listening socket of ours; `serve` answers one connection.
class Listener {
  public:
    Listener() {
        std::string pattern = std::filesystem::temp_directory_path() / "stagecast-XXXXXX";
        directory_ = ::mkdtemp(pattern.data());
        path_ = directory_ + "/socket";
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
        fd_ = UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
        const auto* generic = reinterpret_cast<const sockaddr*>(&address);
        REQUIRE(::bind(fd_.get(), generic, sizeof address) == 0);
        REQUIRE(::listen(fd_.get(), 4) == 0);
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener() { std::filesystem::remove_all(directory_); }

    [[nodiscard]] const std::string& path() const { return path_; }
    void stop() { fd_.reset(); }

    /// Takes one connection, reads its request, writes `bytes` and closes.
    [[nodiscard]] std::jthread answering(std::vector<std::byte> bytes) const {
        return std::jthread{[this, bytes = std::move(bytes)] {
            const UniqueFd peer{::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            FrameReader reader{kMaxMessageBytes};
            std::array<std::byte, 4096> buffer{};
            while (!reader.next()) {
                const auto count = ::read(peer.get(), buffer.data(), buffer.size());
                if (count <= 0) {
                    return;
                }
                static_cast<void>(
                    reader.feed(Bytes{buffer}.first(static_cast<std::size_t>(count))));
            }
            [[maybe_unused]] const auto sent = ::write(peer.get(), bytes.data(), bytes.size());
        }};
    }

  private:
    std::string directory_;
    std::string path_;
    UniqueFd fd_;
};

std::string failure(const Result<Answer>& answer) {
    REQUIRE_FALSE(answer);
    CHECK(answer.error().blame() == Blame::node);
    return answer.error().sentence();
}

}  // namespace

TEST_CASE("a daemon is asked and answers") {
    const Listener listener;
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
    Listener listener;
    listener.stop();
    CHECK_THAT(failure(ask_daemon(listener.path(), PingRequest{}, kLong)),
               Catch::Contains("Connection refused"));
    CHECK_THAT(failure(ask_daemon(std::string(200, 'x'), PingRequest{}, kLong)),
               Catch::Contains("too long"));
}

TEST_CASE("a daemon that takes the request and is silent costs a bounded time") {
    const Listener listener;  // the kernel accepts, nobody answers: as when it is stopped
    CHECK_THAT(failure(ask_daemon(listener.path(), PingRequest{}, kShort)),
               Catch::Contains("timed out"));
}

TEST_CASE("a daemon whose queue is full costs a bounded time") {
    const Listener listener;
    std::vector<UniqueFd> others;
    const Patience patience{.connect = 30ms, .answer = 30ms};
    std::string sentence;
    for (int i = 0; i < 20; ++i) {
        sentence = failure(ask_daemon(listener.path(), PingRequest{}, patience));
    }
    CHECK_THAT(sentence, Catch::Contains("timed out"));
}

TEST_CASE("an answer that breaks off or makes no sense is a failure") {
    const Listener listener;
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

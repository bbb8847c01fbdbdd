#include "transport/tcp/tcp_dialler.h"

#include "transport/os/bound_address.h"
#include "transport/udp/sockets.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace stage {
namespace {

constexpr LinkEnd kDialled{.peer = Rank{1}, .flow = Flow{1}};

Address own_address() {
    return *Address::parse("127.0.0.1", 0);
}

/// Listens, and drops every SYN while one connection waits to be accepted.
class Crowded {
  public:
    Crowded() {
        auto listener = tcp::open_listener(own_address(), {43'101, 43'200}, {});
        REQUIRE(listener);
        listener_ = std::move(*listener);
        REQUIRE(::listen(listener_.get(), 0) == 0);
        auto first = tcp::begin_connection(own_address(), address(), {});
        REQUIRE(first);
        first_ = std::move(*first);
        pollfd made{.fd = first_.get(), .events = POLLOUT, .revents = 0};
        REQUIRE(::poll(&made, 1, 10'000) == 1);
    }

    [[nodiscard]] Address address() const { return *bound_address(listener_.get()); }
    [[nodiscard]] UniqueFd accept() {
        pollfd waits{.fd = listener_.get(), .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&waits, 1, 10'000) == 1);
        return tcp::accept_connection(listener_.get(), {});
    }
    void close() { listener_.reset(); }

  private:
    UniqueFd listener_;
    UniqueFd first_;
};

/// What a turn after the next event brings.
std::vector<tcp::Dialled> turn(tcp::TcpDialler& dialler) {
    pollfd wait{.fd = dialler.descriptor(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&wait, 1, 10'000) == 1);
    std::vector<tcp::Dialled> ended;
    dialler.poll(ended);
    return ended;
}

std::ptrdiff_t descriptors() {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, {});
}

TEST_CASE("a peer that answers at once is dialled once", "[tcp]") {
    auto listener = tcp::open_listener(own_address(), {43'101, 43'200}, {});
    REQUIRE(listener);
    tcp::TcpDialler dialler{own_address(), {}};
    const auto before = descriptors();
    REQUIRE(dialler.dial(kDialled, *bound_address(listener->get())));
    const auto ended = turn(dialler);
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].to == kDialled);
    CHECK(ended[0].socket);
    CHECK(ended[0].round_trip > Duration::zero());
    CHECK(descriptors() == before + 1);
}

TEST_CASE("a dial whose SYN is lost tries other connections, and keeps one", "[tcp]") {
    Crowded crowded;
    tcp::TcpDialler dialler{own_address(), {}};
    const auto before = descriptors();
    REQUIRE(dialler.dial(kDialled, crowded.address()));
    CHECK(descriptors() == before + 2);  // An attempt and the timer.
    for (int attempts = 2; attempts <= 3; ++attempts) {
        CHECK(turn(dialler).empty());
        CHECK(descriptors() == before + 1 + attempts);
    }
    REQUIRE(crowded.accept());
    std::vector<tcp::Dialled> ended;
    while (ended.empty()) {
        ended = turn(dialler);
    }
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].socket);
    CHECK(crowded.accept());
    CHECK(descriptors() == before + 1);
}

TEST_CASE("a peer that refuses ends its dial, also after a lost SYN", "[tcp]") {
    Crowded crowded;
    tcp::TcpDialler dialler{own_address(), {}};
    REQUIRE(dialler.dial(kDialled, crowded.address()));
    CHECK(turn(dialler).empty());
    crowded.close();
    std::vector<tcp::Dialled> ended;
    while (ended.empty()) {
        ended = turn(dialler);
    }
    CHECK_FALSE(ended[0].socket);
}

TEST_CASE("where connections had a long RTT a dial waits longer before it tries another",
          "[tcp]") {
    using std::chrono::milliseconds;
    tcp::TcpDialler dialler{own_address(), {}};
    CHECK(dialler.first_wait() == milliseconds{25});
    dialler.learn(milliseconds{1});
    CHECK(dialler.first_wait() == milliseconds{25});
    dialler.learn(milliseconds{150});
    dialler.learn(milliseconds{1});
    CHECK(dialler.first_wait() == milliseconds{300});
}

TEST_CASE("a dial that is given up leaves nothing", "[tcp]") {
    Crowded crowded;
    tcp::TcpDialler dialler{own_address(), {}};
    const auto before = descriptors();
    REQUIRE(dialler.dial(kDialled, crowded.address()));
    CHECK(turn(dialler).empty());
    dialler.give_up(kDialled);
    CHECK(descriptors() == before);
    REQUIRE(dialler.dial(kDialled, crowded.address()));
    CHECK(descriptors() == before + 2);
}

}  // namespace
}  // namespace stage

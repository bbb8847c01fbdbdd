// Tests which connection is evicted when too many are not authenticated yet.
#include "stager/link/listener.h"

#include "stager/link/link_socket.h"
#include "tests/unit/link/link_world.h"
#include "tests/unit/root.h"
#include "tests/unit/scarce.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

using namespace stage;
using namespace std::chrono_literals;

namespace {

class ListenerWorld : private FalseMunge, public LinkWorld {
  public:
    ListenerWorld()
        : LinkWorld{static_cast<FalseMunge&>(*this), static_cast<FalseMunge&>(*this)} {
        serve = [this] { return answer(); };
    }

    /// A peer at 127.0.0.`host`, taken by the listener. It greets, or is silent.
    Link& come(unsigned host, bool is_privileged, bool greets) {
        sockets_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const int fd = sockets_.back().get();
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(0x7f000000U | host);
        for (std::uint16_t port = is_privileged ? 1000 : 0;; --port) {
            own.sin_port = htons(port);
            if (::bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own) == 0) {
                break;
            }
            REQUIRE(is_privileged);
            REQUIRE(port > 600);
        }
        const SocketAddress to = loopback(listener->port()).to_socket();
        REQUIRE(::connect(fd, to.get(), to.length) == 0);
        const std::size_t before = accepted.size();
        until([&] { return accepted.size() > before; });
        if (greets) {
            ByteWriter greeting;
            greeting.u8(1)
                .u32(0x53434c31U)
                .u16(1)
                .u16(1)
                .raw(LinkNonce{})
                .text("n0")
                .text("n3");
            ByteWriter message;
            message.u32(static_cast<std::uint32_t>(greeting.view().size()))
                .raw(greeting.view());
            REQUIRE(::send(fd, message.view().data(), message.view().size(), MSG_NOSIGNAL) > 0);
            until([&] { return accepted.back()->progress() == 1; });
        }
        return *accepted.back();
    }
    void fill(unsigned host, std::size_t count, bool greets) {
        for (std::size_t i = 0; i < count; ++i) {
            come(host, false, greets);
        }
    }

  private:
    std::vector<UniqueFd> sockets_;
};

bool is_here(const Link& link) {
    return link.state() == Link::State::authenticating;
}

}  // namespace

TEST_CASE("a connection from a privileged port outlasts a crowd of any user's", "[root]") {
    if (!is_root()) {
        return;
    }
    ListenerWorld world;
    const Link& daemon = world.come(2, true, false);
    world.now += 1s;
    world.fill(1, kHalfOpenMax + 50, true);
    CHECK(is_here(daemon));
    CHECK(world.listener->half_open() == kHalfOpenMax);
}

TEST_CASE("where all are from privileged ports, one of any user's is closed instead",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ListenerWorld world;
    for (std::size_t i = 0; i < kHalfOpenMax; ++i) {
        world.come(2 + static_cast<unsigned>(i), true, false);
    }
    const std::size_t before = world.accepted.size();
    const UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const SocketAddress to = loopback(world.listener->port()).to_socket();
    REQUIRE(::connect(fd.get(), to.get(), to.length) == 0);
    world.until([&] { return world.listener->refused_total() == 1; });
    CHECK(world.accepted.size() == before);
    CHECK(std::ranges::all_of(world.accepted, [](const auto& link) { return is_here(*link); }));
    world.come(200, true, false);
    CHECK(is_here(*world.accepted.back()));
    CHECK(world.listener->refused_total() == 2);
}

TEST_CASE("a connection that has just come is not evicted while older ones exist") {
    ListenerWorld world;
    world.fill(1, kHalfOpenMax, true);
    world.now += kHalfOpenGrace;
    const Link& newcomer = world.come(2, false, false);
    world.fill(1, kHalfOpenMax - 1, false);
    CHECK(is_here(newcomer));
}

TEST_CASE("an address that has its share of the places evicts only its own") {
    ListenerWorld world;
    world.fill(2, kHalfOpenMax - kHalfOpenPerAddress, false);
    world.fill(1, kHalfOpenPerAddress, true);
    world.now += kHalfOpenGrace;
    world.fill(1, kHalfOpenPerAddress, true);
    CHECK(std::all_of(world.accepted.begin(),
                      world.accepted.begin() + kHalfOpenMax - kHalfOpenPerAddress,
                      [](const auto& link) { return is_here(*link); }));
}

TEST_CASE("daemons connect from privileged ports, or from any where they may not", "[root]") {
    if (!is_root()) {
        return;
    }
    ListenerWorld world;
    for (const bool may : {true, false}) {
        CAPTURE(may);
        REQUIRE(::seteuid(may ? 0 : 65534) == 0);
        Link& link = world.connect();
        REQUIRE(::seteuid(0) == 0);
        world.until_open(link);
        CHECK((world.accepted.back()->address().port < kUnprivilegedPorts) == may);
    }
}

TEST_CASE("a listener says when it lacked a descriptor for a newcomer", "[link]") {
    ListenerWorld world;
    const UniqueFd client{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const SocketAddress to = loopback(world.listener->port()).to_socket();
    REQUIRE(::connect(client.get(), to.get(), to.length) == 0);
    {
        const Scarce none{0};
        CHECK(world.listener->accept(world.now).empty());
        CHECK(world.listener->lacks_descriptor());
    }
    CHECK(world.listener->accept(world.now).size() == 1);
    CHECK_FALSE(world.listener->lacks_descriptor());
}

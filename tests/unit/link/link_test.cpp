// Tests that a link carries frames whole, in order and sealed, and ends with an error message.
#include "stager/link/link.h"

#include "stager/link/link_socket.h"
#include "tests/unit/link/link_world.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace stage;
using namespace std::chrono_literals;
using State = Link::State;

namespace {

struct World : FalseMunge, LinkWorld {
    World() : LinkWorld{static_cast<FalseMunge&>(*this), static_cast<FalseMunge&>(*this)} {
        serve = [this] { return answer(); };
    }
};

std::vector<std::byte> bytes_of(std::string_view text) {
    const Bytes bytes = as_bytes(text);
    return {bytes.begin(), bytes.end()};
}

std::uint16_t own_port(int fd) {
    sockaddr_in own{};
    socklen_t length = sizeof own;
    REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) == 0);
    return ntohs(own.sin_port);
}

/// Whether a program that does not set SO_REUSEADDR can bind the port, as one that mounts NFS.
bool is_free(std::uint16_t port) {
    const UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const SocketAddress any = Address{.ip = {.family = IpFamily::v4}, .port = port}.to_socket();
    return ::bind(fd.get(), any.get(), any.length) == 0;
}

UniqueFd unauthorised_peer(const World& world) {
    UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const SocketAddress to = loopback(world.listener->port()).to_socket();
    REQUIRE(::connect(fd.get(), to.get(), to.length) == 0);
    return fd;
}

void say(const UniqueFd& fd, Bytes bytes) {
    REQUIRE(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
}

}  // namespace

TEST_CASE("two daemons log in and send frames both ways") {
    World world;
    Link& link = world.connect();
    REQUIRE(link.send(as_bytes("setup")));  // before it is open
    world.until_open(link);
    Link& other = *world.accepted.back();
    CHECK(other.peer_name() == "n0");
    CHECK(other.called_name() == "n3");
    CHECK(other.is_trusted());
    CHECK(link.version() == kLinkVersionMax);
    CHECK(world.next_frame(other) == "setup");
    REQUIRE(other.send(as_bytes("gathered")));
    REQUIRE(other.send(as_bytes("verdict")));
    CHECK(world.next_frame(link) == "gathered");
    CHECK(world.next_frame(link) == "verdict");
    CHECK(world.listener->half_open() == 0);
    CHECK(world.listener->refused_total() == 0);
    CHECK_FALSE(link.deadline());
}

TEST_CASE("frames of every size come whole and in order") {
    World world;
    world.connector_policy.queue_bytes_max = 64U << 20U;
    Link& link = world.connect();
    world.until_open(link);
    Link& other = *world.accepted.back();
    Prng prng{7};
    std::vector<std::string> sent;
    for (int i = 0; i < 200; ++i) {
        const std::size_t size = i < 3 ? kFrameMax : 1 + prng.below(50'000);
        sent.emplace_back(size, static_cast<char>('a' + prng.below(26)));
        REQUIRE(link.send(as_bytes(sent.back())));
    }
    for (const std::string& frame : sent) {
        REQUIRE(world.next_frame(other) == frame);
    }
}

TEST_CASE("a peer that does not read is reported, at the queue's limit") {
    World world;
    world.connector_policy.queue_bytes_max = 8U << 20U;
    Link& link = world.connect();
    world.until_open(link);
    const std::vector<std::byte> frame(kFrameMax, std::byte{1});
    Status sent;
    for (int i = 0; i < 20 && sent; ++i) {
        sent = link.send(frame);
    }
    REQUIRE_FALSE(sent);
    CHECK_THAT(sent.error().sentence(), Catch::Contains("does not read its messages"));
    CHECK(link.state() == State::open);
}

TEST_CASE("a frame beyond the limit is refused, and the link lives on") {
    World world;
    Link& link = world.connect();
    CHECK_FALSE(link.send(std::vector<std::byte>(kFrameMax + 1)));
    world.until_open(link);
    const Status sent = link.send(std::vector<std::byte>(kFrameMax + 1));
    REQUIRE_FALSE(sent);
    CHECK_THAT(sent.error().sentence(), Catch::Contains("longer than the limit"));
    REQUIRE(link.send(as_bytes("short")));
    CHECK(world.next_frame(*world.accepted.back()) == "short");
}

TEST_CASE("finish sends what is queued, then ends without an error") {
    World world;
    Link& link = world.connect();
    world.until_open(link);
    Link& other = *world.accepted.back();
    const std::vector<std::byte> frame(kFrameMax, std::byte{1});
    REQUIRE(link.send(frame));
    REQUIRE(link.send(as_bytes("last")));
    REQUIRE(other.send(as_bytes("no peer reads this any more")));
    link.finish(world.now);
    CHECK_FALSE(link.send(as_bytes("too late")));
    CHECK(world.next_frame(other).size() == kFrameMax);
    CHECK(world.next_frame(other) == "last");
    world.until_closed(other);
    CHECK_THAT(error_of(other), Catch::Contains("was lost (it closed the connection)"));
    world.until_closed(link);
    CHECK_FALSE(link.error());
}

TEST_CASE("a connector's port is free as soon as the connection has ended") {
    World world;
    Link& link = world.connect();
    world.until_open(link);
    Link& other = *world.accepted.back();
    const std::uint16_t port = own_port(link.fd());
    CHECK_FALSE(is_free(port));
    UniqueFd released;
    SECTION("the connector finishes") {
        REQUIRE(link.send(as_bytes("last")));
        link.finish(world.now);
        CHECK(world.next_frame(other) == "last");
    }
    SECTION("the acceptor finishes") {
        REQUIRE(other.send(as_bytes("last")));
        other.finish(world.now);
        CHECK(world.next_frame(link) == "last");
    }
    SECTION("both finish") {
        link.finish(world.now);
        other.finish(world.now);
    }
    SECTION("the connector gives up") {
        link.close({Blame::node, "it is late"});
    }
    SECTION("the connector has what it wanted") {
        REQUIRE(other.send(as_bytes("answer")));
        other.finish(world.now);
        world.links.clear();
        world.until_closed(other);
        CHECK_FALSE(other.error());
    }
    SECTION("the acceptor gives up") {
        other.close({Blame::node, "it is late"});
    }
    SECTION("another protocol has taken it, and the connector closes first") {
        released = link.release();
        REQUIRE(released);
        released.reset();
    }
    world.until([&] {
        return other.state() == State::closed &&
               (world.links.empty() || link.state() == State::closed);
    });
    CHECK(is_free(port));
}

TEST_CASE("connectors leave ports of the kernel's NFS client and of controllers alone",
          "[root]") {
    constexpr std::uint16_t kFirstOfNfs = 665;  // sunrpc.min_resvport
    World world;
    for (int i = 0; i < 200; ++i) {
        const std::uint16_t port = own_port(world.connect().fd());
        CHECK((port < kFirstOfNfs || port >= kUnprivilegedPorts));
        CHECK(port != 623);  // RMCP: frames to it may not reach the kernel.
        CHECK(port != 664);
    }
}

TEST_CASE("a firewall is named where the host's refusal would not come from a closed port") {
    World world;
    // A broadcast address: the kernel refuses to connect to it.
    const auto unreachable = Address::parse("255.255.255.255", 6829);
    REQUIRE(unreachable);
    const auto link =
        Link::connect(world.connector_policy, world, "n3", *unreachable, world.now);
    CHECK_THAT(error_of(*link),
               Catch::Contains("does not answer at 255.255.255.255:6829 (") &&
                   Catch::Contains("; is that node up, and does a firewall block its port?"));
}

TEST_CASE("finish gives up on a peer that does not read") {
    World world;
    Link& link = world.connect();
    world.until_open(link);
    const std::vector<std::byte> frame(kFrameMax, std::byte{1});
    while (!link.wants_write()) {
        REQUIRE(link.send(frame));
    }
    link.finish(world.now);
    REQUIRE(link.deadline() == world.now + world.connector_policy.silence_max);
    link.on_time(*link.deadline());
    CHECK(link.state() == State::closed);
    CHECK_FALSE(link.error());
}

TEST_CASE("a peer that does not run is an error with the address") {
    World world;
    const std::uint16_t port = world.listener->port();
    world.listener.reset();
    auto link = Link::connect(world.connector_policy, world, "n3", loopback(port), world.now);
    if (link->state() != State::closed) {
        pollfd polled{.fd = link->fd(), .events = POLLOUT, .revents = 0};
        REQUIRE(::poll(&polled, 1, 20'000) == 1);
        link->on_writable(world.now);
    }
    CHECK(error_of(*link) == "stagecastd does not answer at 127.0.0.1:" + std::to_string(port) +
                                 " (Connection refused); is it running there?");
    CHECK(link->error()->blame() == Blame::node);
}

TEST_CASE("silence ends a connector at its time limit, with an error that names its state") {
    World world;
    Link& link = world.connect();
    REQUIRE(link.deadline() == world.now + 5s);
    SECTION("before the connection") {
        if (link.state() == State::connecting) {
            link.on_time(world.now + 5s);
            CHECK_THAT(error_of(link),
                       Catch::Contains("does not answer at 127.0.0.1:") &&
                           Catch::Contains("within 5 s"));
        }
    }
    SECTION("waiting for munge here") {
        world.serve = nullptr;
        world.until([&] { return world.waiting() == 1; });
        link.on_time(world.now + 5s);
        CHECK_THAT(error_of(link),
                   Catch::Contains("waiting for munge on this node; is munged running?"));
        CHECK(world.waiting() == 0);
    }
    SECTION("waiting for the other daemon") {
        // Munge answers the connector only.
        world.serve = [&world, answered = false]() mutable {
            return !answered && world.waiting() > 0 && (answered = world.answer());
        };
        world.until(
            [&] { return !world.accepted.empty() && world.accepted[0]->progress() == 2; });
        link.on_time(world.now + 5s);
        CHECK_THAT(error_of(link),
                   Catch::Contains("waiting for its answer; is munged running there?"));
    }
    CHECK(link.state() == State::closed);
}

TEST_CASE("an unproven peer has its time limit too, and is counted") {
    World world;
    const UniqueFd fd = unauthorised_peer(world);
    world.until([&] { return !world.accepted.empty(); });
    Link& link = *world.accepted.back();
    CHECK(world.listener->half_open() == 1);
    link.on_time(world.now + 5s);
    CHECK(link.state() == State::closed);
    world.listener->settle(link, world.now);
    CHECK(world.listener->half_open() == 0);
    CHECK(world.listener->refused_total() == 1);
    REQUIRE(world.log_lines.size() == 1);
    CHECK_THAT(world.log_lines[0], Catch::Contains("127.0.0.1"));
}

TEST_CASE("an unauthorised peer can neither read nor send at the port") {
    World world;
    const UniqueFd fd = unauthorised_peer(world);
    SECTION("garbage") {
        say(fd, bytes_of("GET / HTTP/1.0\r\n\r\n"));
    }
    SECTION("a length without end") {
        say(fd,
            std::vector<std::byte>{std::byte{0}, std::byte{0}, std::byte{0x20}, std::byte{1}});
    }
    SECTION("a greeting and then too much") {
        ByteWriter greeting;
        const LinkNonce nonce{};
        greeting.u8(1).u32(0x53434c31U).u16(1).u16(1).raw(nonce).text("n0").text("n3");
        say(fd, with_length(greeting.view()));
        // A credential that waits for munge, and a flood behind it.
        world.serve = nullptr;
        ByteWriter credential;
        credential.u8(2).text("MUNGE:AAAA:");
        say(fd, with_length(credential.view()));
        say(fd, std::vector<std::byte>(kGreetingMax + 1024, std::byte{0}));
    }
    SECTION("a credential that is none") {
        ByteWriter greeting;
        const LinkNonce nonce{};
        greeting.u8(1).u32(0x53434c31U).u16(1).u16(1).raw(nonce).text("n0").text("n3");
        say(fd, with_length(greeting.view()));
        ByteWriter credential;
        credential.u8(2).text("MUNGE:AAAA:");
        say(fd, with_length(credential.view()));
        world.bend = [](OpenedCredential& opened) {
            opened = {.state = CredentialState::refused, .payload = {}, .sentence = "Invalid"};
        };
    }
    SECTION("hanging up") {
        ::shutdown(fd.get(), SHUT_RDWR);
    }
    world.until([&] {
        return !world.accepted.empty() && world.accepted.back()->state() == State::closed;
    });
    CHECK_FALSE(world.accepted.back()->is_trusted());
    world.listener->settle(*world.accepted.back(), world.now);
    CHECK(world.listener->refused_total() == 1);
    CHECK(world.listener->half_open() == 0);
}

TEST_CASE("a crowd of silent peers does not keep a daemon out") {
    World world;
    std::vector<UniqueFd> crowd;
    for (std::size_t i = 0; i < kHalfOpenMax + 50; ++i) {
        crowd.push_back(unauthorised_peer(world));
        world.until([&] { return world.accepted.size() == crowd.size(); });
    }
    CHECK(world.listener->half_open() == kHalfOpenMax);
    CHECK(world.listener->refused_total() == 50);
    CHECK(world.log_lines.size() == 1);  // the clock stands still
    Link& link = world.connect();
    world.until_open(link);
}

TEST_CASE("an evicted link wakes its owner") {
    World world;
    const UniqueFd fd = unauthorised_peer(world);
    world.until([&] { return !world.accepted.empty(); });
    bool woken = false;
    world.accepted.back()->set_wake([&] { woken = true; });
    world.accepted.back()->evict();
    CHECK(woken);
    CHECK(world.accepted.back()->fd() == -1);
}

TEST_CASE("munge's answer wakes a link's owner, and a dropped link is not called") {
    World world;
    world.serve = nullptr;
    Link& link = world.connect();
    int woken = 0;
    link.set_wake([&] { ++woken; });
    world.until([&] { return world.waiting() == 1; });
    SECTION("answered") {
        CHECK(world.answer());
        CHECK(woken == 1);
    }
    SECTION("dropped") {
        world.links.clear();
        CHECK_FALSE(world.answer());
    }
}

TEST_CASE("an attacker between two daemons can only end a link") {
    // A relay that changes one byte of the stream, at any place of it.
    const std::size_t at = GENERATE(range(std::size_t{0}, std::size_t{700}, std::size_t{3}));
    const bool to_acceptor = GENERATE(true, false);
    CAPTURE(at, to_acceptor);
    World world;
    world.connector_policy.queue_bytes_max = 1U << 20U;
    auto relay_port =
        Listener::open(0,
                       world.acceptor_policy,
                       world,
                       Logger{[](LogLevel, std::string_view) {}, LogLevel::error});
    REQUIRE(relay_port);
    world.links.push_back(Link::connect(
        world.connector_policy, world, "n3", loopback(relay_port->port()), world.now));
    Link& link = *world.links.back();
    REQUIRE(link.send(as_bytes(std::string(300, 'x'))));
    pollfd ready{.fd = relay_port->fd(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&ready, 1, 20'000) == 1);
    const UniqueFd near{::accept(relay_port->fd(), nullptr, nullptr)};
    const UniqueFd far = unauthorised_peer(world);
    std::size_t passed_near = 0;
    std::size_t passed_far = 0;
    const auto pass = [&](int from, int to, std::size_t& passed, bool spoil) {
        std::array<char, 4096> chunk{};
        const ssize_t got = ::recv(from, chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (got <= 0) {
            return false;
        }
        const auto size = static_cast<std::size_t>(got);
        if (spoil && at >= passed && at < passed + size) {
            chunk[at - passed] = static_cast<char>(chunk[at - passed] ^ 1);
        }
        passed += size;
        static_cast<void>(::send(to, chunk.data(), size, MSG_NOSIGNAL));
        return true;
    };
    world.serve = [&] {
        const bool there = pass(near.get(), far.get(), passed_near, to_acceptor);
        const bool back = pass(far.get(), near.get(), passed_far, !to_acceptor);
        return world.answer() || there || back;
    };
    // A changed length makes a side wait for more: then its time limit is what ends it.
    std::string came;
    for (int round = 0; round < 200; ++round) {
        if (!world.serve()) {
            for (auto* side : {&world.links, &world.accepted}) {
                for (const auto& each : *side) {
                    each->on_readable(world.now);
                    if (each->wants_write()) {
                        each->on_writable(world.now);
                    }
                }
            }
            for (auto& each : world.listener->accept(world.now)) {
                world.accepted.push_back(std::move(each));
            }
        }
        if (!world.accepted.empty()) {
            if (const auto frame = world.accepted.back()->receive()) {
                came = text_of(*frame);
            }
        }
    }
    const std::size_t length = to_acceptor ? passed_near : passed_far;
    const bool touched = at < length;
    if (touched) {
        const bool both = link.state() == State::open && !world.accepted.empty() &&
                          world.accepted.back()->state() == State::open;
        // A length that grew leaves both waiting; the frame has not come all the same.
        CHECK((!both || came.empty() || !to_acceptor));
        CHECK((came.empty() || came == std::string(300, 'x')));
        if (to_acceptor) {
            CHECK(came.empty());
        }
    } else {
        CHECK(came == std::string(300, 'x'));
    }
}

TEST_CASE("a link that has nothing to say any more leaves its connection to another protocol") {
    World world;
    Link& link = world.connect();
    REQUIRE(link.send(as_bytes("take")));
    CHECK_FALSE(link.release());  // Not open yet.
    world.until_open(link);
    Link& other = *world.accepted.back();
    world.until([&] { return other.state() == State::open; });
    CHECK(world.next_frame(other) == "take");
    const UniqueFd near = link.release();
    REQUIRE(near);
    CHECK(link.state() == State::closed);
    CHECK_FALSE(link.error());
    const UniqueFd far = other.release();
    REQUIRE(far);
    say(far, as_bytes("bytes"));
    std::array<char, 8> room{};
    world.until([&] { return ::recv(near.get(), room.data(), room.size(), 0) == 5; });
    CHECK(std::string_view{room.data()} == "bytes");
}

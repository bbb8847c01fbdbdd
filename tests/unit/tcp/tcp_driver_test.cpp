#include "transport/tcp/tcp_driver.h"

#include "transport/os/bound_address.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/udp/sockets.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>

namespace stage {
namespace {

constexpr std::pair<std::uint16_t, std::uint16_t> kDriverPorts{42'001, 43'000};
constexpr std::size_t kPacketBytes = 20'000;

struct Members {
    std::vector<std::unique_ptr<tcp::TcpDriver>> drivers;
    std::vector<Address> addresses;
};

/// `before`: what happens while the members listen and do not work yet.
Members open_members(const std::vector<std::string>& hosts,
                     const std::function<void(const Members&)>& before = nullptr) {
    Members members;
    std::vector<tcp::TcpEndpoints> endpoints(hosts.size());
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const auto own = Address::parse(hosts[rank], 0);
        REQUIRE(own);
        auto listener = tcp::open_listener(*own, kDriverPorts, {});
        REQUIRE(listener);
        const auto bound = bound_address(listener->get());
        REQUIRE(bound);
        members.addresses.push_back(*bound);
        endpoints[rank].listener = std::move(*listener);
        endpoints[rank].own = Rank{static_cast<std::uint16_t>(rank)};
        endpoints[rank].packet_bytes_max = kPacketBytes;
    }
    if (before) {
        before(members);
    }
    for (auto& each : endpoints) {
        each.members = members.addresses;
        members.drivers.push_back(std::make_unique<tcp::TcpDriver>(std::move(each)));
    }
    return members;
}

Members open_members(std::size_t count) {
    return open_members(std::vector<std::string>(count, "127.0.0.1"));
}

/// Begins a connection from an address to the first member.
UniqueFd connect_from(const std::string& host, const Members& members) {
    auto made = tcp::begin_connection(*Address::parse(host, 0), members.addresses[0], {});
    REQUIRE(made);
    return *std::move(made);
}

/// Lets the first member accept what waits.
void accept_all(Members& members) {
    std::vector<ReceivedPacket> packets;
    REQUIRE(members.drivers[0]->receive(packets, {}));
    CHECK(packets.empty());
}

/// It was made and not closed.
bool stands(const UniqueFd& connection) {
    char byte = 0;
    return tcp::peer_of(connection.get()) &&
           ::recv(connection.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/// A train of packets of one size, whose first byte is `mark`, to a peer that is connected to
/// before.
void send(tcp::TcpDriver& driver,
          Rank to,
          char mark,
          std::size_t packet,
          std::size_t count,
          Flow flow = {}) {
    std::vector<std::byte> bytes(packet * count, std::byte{7});
    for (std::size_t i = 0; i < count; ++i) {
        bytes[i * packet] = static_cast<std::byte>(mark);
    }
    const std::vector<Bytes> pieces{Bytes{bytes}.first(5), Bytes{bytes}.subspan(5)};
    driver.connect({.peer = to, .flow = flow});
    const auto sent = driver.send({.target = {.to_group = false, .peer = to, .flow = flow},
                                   .pieces = pieces,
                                   .bytes = bytes.size(),
                                   .packet_bytes = static_cast<std::uint32_t>(packet)});
    REQUIRE(sent);
}

/// Lets the drivers work on what is there, or comes within a moment; false if nothing does.
bool await(std::initializer_list<tcp::TcpDriver*> drivers) {
    std::vector<pollfd> waits;
    for (tcp::TcpDriver* driver : drivers) {
        waits.push_back({.fd = driver->descriptors().front(), .events = POLLIN, .revents = 0});
    }
    return ::poll(waits.data(), waits.size(), 10'000) > 0;
}

/// Receives until `count` packets are here, while `other` makes its connection; what they begin
/// with. `sender`: the member that sealed them, if they are to prove it.
std::string receive(tcp::TcpDriver& driver,
                    tcp::TcpDriver& other,
                    std::size_t count,
                    std::optional<Rank> sender,
                    Flow flow = {}) {
    std::string marks;
    while (marks.size() < count && await({&driver, &other})) {
        std::vector<ReceivedPacket> none;
        REQUIRE(other.receive(none, {}));
        std::vector<ReceivedPacket> packets;
        REQUIRE(driver.receive(packets, {}));
        for (const ReceivedPacket& packet : packets) {
            marks += static_cast<char>(packet.bytes.front());
            if (packet.unproved != 0) {
                const auto end = sender ? std::optional{LinkEnd{.peer = *sender, .flow = flow}}
                                        : std::nullopt;
                CHECK(driver.prove(packet.unproved, end) == sender.has_value());
            }
        }
    }
    return marks;
}

std::vector<LinkEvent> links_of(tcp::TcpDriver& driver) {
    std::vector<LinkEvent> events;
    driver.take_links(events);
    return events;
}

/// Turns the driver until it reports a connection that ended.
bool sees_end(tcp::TcpDriver& driver, Rank peer) {
    while (true) {
        for (const LinkEvent& event : links_of(driver)) {
            if (event.kind == LinkEvent::Kind::closed && event.peer == peer) {
                return true;
            }
        }
        if (!await({&driver})) {
            return false;
        }
        std::vector<ReceivedPacket> packets;
        REQUIRE(driver.receive(packets, {}));
    }
}

TEST_CASE("programs that have all ports keep no member from listening", "[tcp]") {
    const auto own = Address::parse("127.0.0.1", 0);
    REQUIRE(own);
    std::vector<UniqueFd> held;
    for (int i = 0; i < 5; ++i) {
        auto listener = tcp::open_listener(*own, {43'001, 43'003}, {});
        REQUIRE(listener);
        const auto bound = bound_address(listener->get());
        REQUIRE(bound);
        CHECK((bound->port >= 43'001 && bound->port <= 43'003) == (i < 3));
        held.push_back(std::move(*listener));
    }
}

TEST_CASE("a train goes over a connection that it makes, and back", "[tcp]") {
    Members members = open_members(2);
    auto& child = *members.drivers[1];
    auto& parent = *members.drivers[0];
    send(child, Rank{0}, 'r', 60, 1);
    CHECK(receive(parent, child, 1, Rank{1}) == "r");
    send(parent, Rank{1}, 'd', 16'400, 5);
    CHECK(receive(child, parent, 5, std::nullopt) == "ddddd");
    CHECK(std::ranges::any_of(links_of(parent), [](const LinkEvent& event) {
        return event.peer == Rank{1} && event.kind == LinkEvent::Kind::ready;
    }));
}

TEST_CASE("what the kernel does not take is kept, and its leaving is reported", "[tcp]") {
    Members members = open_members(2);
    auto& child = *members.drivers[1];
    auto& parent = *members.drivers[0];
    send(child, Rank{0}, 'r', 60, 1);
    CHECK(receive(parent, child, 1, Rank{1}) == "r");
    static_cast<void>(links_of(parent));
    std::size_t sent = 0;
    while (sent < 4000) {  // Far more than sockets hold, in the end.
        send(parent, Rank{1}, 'd', 16'000, 4);
        sent += 4;
        if (links_of(parent).empty()) {
            break;
        }
    }
    CHECK(sent < 4000);
    std::string got;
    bool is_ready = false;
    while ((got.size() < sent || !is_ready) && await({&child, &parent})) {
        std::vector<ReceivedPacket> packets;
        REQUIRE(child.receive(packets, {}));
        got.append(packets.size(), 'd');
        packets.clear();
        REQUIRE(parent.receive(packets, {}));
        is_ready = is_ready || !links_of(parent).empty();
    }
    CHECK(got.size() == sent);
    CHECK(is_ready);
}

TEST_CASE("a connection that proves nothing is closed", "[tcp]") {
    Members members = open_members(2);
    auto& child = *members.drivers[1];
    auto& parent = *members.drivers[0];
    SECTION("a packet that does not open") {
        send(child, Rank{0}, 'x', 60, 1);
        CHECK(receive(parent, child, 1, std::nullopt) == "x");
    }
    SECTION("a first packet that is too long") {
        send(child, Rank{0}, 'x', 4000, 1);
        std::vector<ReceivedPacket> packets;
        while (links_of(child).empty() && await({&child, &parent})) {
            REQUIRE(child.receive(packets, {}));
            REQUIRE(parent.receive(packets, {}));
        }
        CHECK(packets.empty());
        return;
    }
    CHECK(sees_end(child, Rank{0}));
}

TEST_CASE("what follows a first packet waits until that is proved", "[tcp]") {
    Members members = open_members(2);
    auto& child = *members.drivers[1];
    auto& parent = *members.drivers[0];
    send(child, Rank{0}, 'r', 60, 1);
    send(child, Rank{0}, 'l', 900, 1);  // In the same read, and longer than a first one may be.
    CHECK(receive(parent, child, 2, Rank{1}) == "rl");
}

TEST_CASE("two members have a connection for each flow, made by either", "[tcp]") {
    Members members = open_members(2);
    auto& one = *members.drivers[0];
    auto& other = *members.drivers[1];
    send(other, Rank{0}, 'a', 60, 1);
    CHECK(receive(one, other, 1, Rank{1}) == "a");
    send(one, Rank{1}, 'b', 60, 1, Flow{1});
    CHECK(receive(other, one, 1, Rank{0}, Flow{1}) == "b");
    send(one, Rank{1}, 'c', 60, 1);
    CHECK(receive(other, one, 1, std::nullopt) == "c");
    other.hang_up({.peer = Rank{0}, .flow = Flow{1}});
    CHECK(sees_end(one, Rank{1}));
    send(other, Rank{0}, 'd', 60, 1);
    CHECK(receive(one, other, 1, std::nullopt) == "d");
}

TEST_CASE("a train to a peer without a connection is lost", "[tcp]") {
    Members members = open_members(2);
    std::vector<std::byte> bytes(60);
    const std::vector<Bytes> pieces{Bytes{bytes}};
    const Train train{.target = {.to_group = false, .peer = Rank{1}},
                      .pieces = pieces,
                      .bytes = bytes.size(),
                      .packet_bytes = 60};
    REQUIRE(members.drivers[0]->send(train));
    CHECK(links_of(*members.drivers[0]).empty());
    CHECK(members.drivers[0]->counters().packets_sent == 0);
}

TEST_CASE("connections that say nothing take no member's place", "[tcp]") {
    Members members = open_members(2);
    auto& parent = *members.drivers[0];
    auto& child = *members.drivers[1];
    std::vector<UniqueFd> mute;
    for (int i = 0; i < 200; ++i) {
        auto made =
            tcp::begin_connection(*Address::parse("127.0.0.1", 0), members.addresses[0], {});
        REQUIRE(made);
        mute.push_back(std::move(*made));
        std::vector<ReceivedPacket> packets;
        REQUIRE(parent.receive(packets, {}));
    }
    send(child, Rank{0}, 'r', 60, 1);
    CHECK(receive(parent, child, 1, Rank{1}) == "r");
}

TEST_CASE("a connection from an address that is no other member's does not stand", "[tcp]") {
    std::vector<UniqueFd> others;
    const auto connect = [&](const Members& members) {
        others.push_back(connect_from("127.0.0.9", members));
        // The member's own address is other users' of its node.
        others.push_back(connect_from("127.0.0.1", members));
    };
    const bool is_early = GENERATE(true, false);
    Members members =
        open_members({"127.0.0.1", "127.0.0.2"},
                     is_early ? std::function<void(const Members&)>{connect} : nullptr);
    if (!is_early) {
        connect(members);
        CHECK(std::ranges::none_of(others, stands));  // They are not in the backlog.
    }
    const UniqueFd member = connect_from("127.0.0.2", members);
    accept_all(members);
    CHECK(std::ranges::none_of(others, stands));
    CHECK(stands(member));
    send(*members.drivers[1], Rank{0}, 'r', 60, 1);
    CHECK(receive(*members.drivers[0], *members.drivers[1], 1, Rank{1}) == "r");
}

TEST_CASE("many connections are accepted in a turn", "[tcp]") {
    std::vector<UniqueFd> others;
    Members members = open_members({"127.0.0.1", "127.0.0.2"}, [&](const Members& listening) {
        for (int i = 0; i < 200; ++i) {
            others.push_back(connect_from("127.0.0.9", listening));
        }
    });
    const UniqueFd member = connect_from("127.0.0.2", members);
    accept_all(members);
    CHECK(std::ranges::none_of(others, stands));
    CHECK(stands(member));
}

TEST_CASE("connections from one member's host are in the way of no other member", "[tcp]") {
    Members members = open_members({"127.0.0.1", "127.0.0.2", "127.0.0.3"});
    const UniqueFd first = connect_from("127.0.0.2", members);
    std::vector<UniqueFd> flood;
    for (int i = 0; i < 200; ++i) {
        flood.push_back(connect_from("127.0.0.3", members));
        accept_all(members);
    }
    CHECK(stands(first));
    CHECK_FALSE(stands(flood.front()));
    CHECK(stands(flood.back()));
}

TEST_CASE("the end of a peer, and a peer that is not there, are reported", "[tcp]") {
    Members members = open_members(2);
    auto& child = *members.drivers[1];
    send(child, Rank{0}, 'r', 60, 1);
    CHECK(receive(*members.drivers[0], child, 1, Rank{1}) == "r");
    members.drivers[0].reset();
    CHECK(sees_end(child, Rank{0}));
    send(child, Rank{0}, 'r', 60, 1);
    CHECK(sees_end(child, Rank{0}));
}

TEST_CASE("a second connection of a member replaces its first", "[tcp]") {
    Members members = open_members(2);
    auto& child = *members.drivers[1];
    auto& parent = *members.drivers[0];
    send(child, Rank{0}, 'a', 60, 1);
    CHECK(receive(parent, child, 1, Rank{1}) == "a");
    child.hang_up({.peer = Rank{0}});
    send(child, Rank{0}, 'b', 60, 1);
    CHECK(receive(parent, child, 1, Rank{1}) == "b");
    CHECK(std::ranges::none_of(links_of(parent), [](const LinkEvent& event) {
        return event.kind == LinkEvent::Kind::closed;  // It would be taken for the second's.
    }));
    send(parent, Rank{1}, 'c', 60, 1);
    CHECK(receive(child, parent, 1, std::nullopt) == "c");
}

}  // namespace
}  // namespace stage

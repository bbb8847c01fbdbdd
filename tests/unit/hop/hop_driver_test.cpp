// Tests hops between drivers on real sockets, and what becomes of them without UDP.
#include "transport/hop/hop_driver.h"

#include "transport/base/fields.h"
#include "transport/hop/hop_fabric.h"
#include "transport/os/clock.h"
#include "transport/wire/packet.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <memory>

namespace stage::hop {
namespace {

using namespace std::chrono_literals;

constexpr LinkEnd kToSource{.peer = Rank{0}};

/// Two members on the loopback interface. The second one's card may name a UDP socket that
/// nothing reads, as if a firewall dropped what goes there.
class Pair {
  public:
    explicit Pair(bool is_udp_blocked = false) {
        const HopFabric fabric;
        std::vector<Endpoint> endpoints;
        for (std::uint16_t rank = 0; rank < 2; ++rank) {
            auto opened = fabric.open(
                {.rails = {{.name = "lo", .address = *Address::parse("127.0.0.1", 0)}},
                 .ports = {.lent = {}, .open_to_all = {{0, 0}}}});
            REQUIRE(opened);
            endpoints.push_back(std::move(*opened));
            auto place = fabric.place(endpoints.back());
            REQUIRE(place);
            CHECK(place->bytes.size() <= kMaxPlaceBytes);
            places.push_back(place->bytes);
        }
        if (is_udp_blocked) {
            unread_ = UniqueFd{::dup(endpoints[0].descriptors.back().get())};
            auto other = fabric.open(
                {.rails = {{.name = "lo", .address = *Address::parse("127.0.0.1", 0)}},
                 .ports = {.lent = {}, .open_to_all = {{0, 0}}}});
            REQUIRE(other);
            std::swap(endpoints[0].descriptors.back(), other->descriptors.back());
        }
        for (std::uint16_t rank = 0; rank < 2; ++rank) {
            JoinPlan plan;
            plan.own = Rank{rank};
            plan.source = Rank{0};
            plan.places = places;
            auto joined = fabric.join(std::move(endpoints[rank]), plan);
            REQUIRE(joined);
            CHECK_FALSE(joined->carrier.has_multicast);
            drivers.push_back(std::move(joined->driver));
        }
    }

    /// A packet of that type with `bytes` in all.
    static std::vector<std::byte> packet(wire::PacketType type, std::size_t bytes, int mark) {
        std::vector<std::byte> packet(bytes, static_cast<std::byte>(mark));
        wire::Header header;
        header.type = type;
        wire::write_header(header, packet);
        return packet;
    }

    void send(std::size_t from, Rank to, const std::vector<std::byte>& packet) {
        const std::vector<Bytes> pieces{Bytes{packet}.first(7), Bytes{packet}.subspan(7)};
        REQUIRE(
            drivers[from]->send({.target = {.peer = to},
                                 .pieces = pieces,
                                 .bytes = packet.size(),
                                 .packet_bytes = static_cast<std::uint32_t>(packet.size())}));
    }

    /// Turns both until `is_done`; what comes is kept, and proved to be of the other member.
    bool run(const std::function<bool()>& is_done) {
        const Instant end = read_clock() + 20s;
        while (!is_done() && read_clock() < end) {
            std::vector<pollfd> waits;
            for (const auto& driver : drivers) {
                for (const int descriptor : driver->descriptors()) {
                    waits.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
                }
            }
            ::poll(waits.data(), waits.size(), 50);
            for (std::size_t i = 0; i < drivers.size(); ++i) {
                std::vector<ReceivedPacket> packets;
                REQUIRE(drivers[i]->receive(packets, {}));
                for (const ReceivedPacket& one : packets) {
                    const LinkEnd sender{.peer = Rank{static_cast<std::uint16_t>(1 - i)}};
                    if (one.unproved != 0 && !drivers[i]->prove(one.unproved, sender)) {
                        continue;
                    }
                    arrived[i].emplace_back(one.bytes.begin(), one.bytes.end());
                }
                drivers[i]->take_links(events[i]);
            }
        }
        return is_done();
    }

    [[nodiscard]] bool has(std::size_t member, LinkEvent::Kind kind) const {
        return std::ranges::any_of(
            events.at(member), [kind](const LinkEvent& event) { return event.kind == kind; });
    }

    std::vector<std::vector<std::byte>> places;
    std::vector<std::unique_ptr<Driver>> drivers;
    std::array<std::vector<std::vector<std::byte>>, 2> arrived;
    std::array<std::vector<LinkEvent>, 2> events;

  private:
    UniqueFd unread_;
};

/// Member 1 connects, as a relay's child; member 0 answers with OFFER and DATA.
void exchange(Pair& pair) {
    const auto ready = Pair::packet(wire::PacketType::ready, 60, 1);
    pair.drivers[1]->connect(kToSource);
    pair.send(1, Rank{0}, ready);
    REQUIRE(pair.run([&] { return !pair.arrived[0].empty(); }));
    CHECK(pair.arrived[0].front() == ready);
    std::vector<std::vector<std::byte>> sent{Pair::packet(wire::PacketType::offer, 50, 2)};
    pair.send(0, Rank{1}, sent.front());
    for (int i = 0; i < 200; ++i) {
        sent.push_back(Pair::packet(wire::PacketType::data, 16'000, i));
        pair.send(0, Rank{1}, sent.back());
    }
    REQUIRE(pair.run([&] { return pair.arrived[1].size() == sent.size(); }));
    std::ranges::sort(pair.arrived[1]);
    std::ranges::sort(sent);
    CHECK(pair.arrived[1] == sent);
    CHECK(pair.run([&] { return pair.has(0, LinkEvent::Kind::ready); }));
    CHECK(pair.has(1, LinkEvent::Kind::ready));
    CHECK_FALSE(pair.has(0, LinkEvent::Kind::closed));
    CHECK_FALSE(pair.has(1, LinkEvent::Kind::closed));
}

TEST_CASE("a connection goes by UDP where that passes") {
    Pair pair;
    exchange(pair);
    CHECK(pair.drivers[0]->name() == "hop");
    CHECK(pair.drivers[1]->name() == "hop");
}

TEST_CASE("a connection goes by TCP where UDP is answered by nothing") {
    Pair pair{true};
    exchange(pair);
    CHECK(pair.drivers[0]->name() == "tcp");
    CHECK(pair.drivers[1]->name() == "tcp");
}

TEST_CASE("an end that hangs up closes the other one's connection") {
    Pair pair;
    exchange(pair);
    pair.drivers[0]->hang_up({.peer = Rank{1}});
    CHECK(pair.run([&] { return pair.has(1, LinkEvent::Kind::closed); }));
    CHECK_FALSE(pair.has(0, LinkEvent::Kind::closed));
}

TEST_CASE("what a member sends last arrives although its driver ends") {
    Pair pair;
    exchange(pair);
    pair.arrived[0].clear();
    pair.send(1, Rank{0}, Pair::packet(wire::PacketType::done_ack, 40, 3));
    pair.drivers.pop_back();
    CHECK(pair.run([&] { return pair.arrived[0].size() == 1; }));
    CHECK(pair.run([&] { return pair.has(0, LinkEvent::Kind::closed); }));
}

TEST_CASE("a peer that ends without a word is missed") {
    Pair pair;
    exchange(pair);
    Pair other;
    std::swap(pair.drivers[1], other.drivers[1]);  // It answers for other numbers.
    CHECK(pair.run([&] { return pair.has(0, LinkEvent::Kind::closed); }));
}

TEST_CASE("a peer is missed by one that turns as seldom as its pulses are due") {
    Pair pair;
    exchange(pair);
    Pair other;
    std::swap(pair.drivers[1], other.drivers[1]);
    bool is_closed = false;
    for (int turn = 0; turn < 20 && !is_closed; ++turn) {
        ::poll(nullptr, 0, 250);
        std::vector<ReceivedPacket> packets;
        std::vector<LinkEvent> events;
        REQUIRE(pair.drivers[0]->receive(packets, {}));
        pair.send(0, Rank{1}, Pair::packet(wire::PacketType::pulse, 40, 1));
        pair.drivers[0]->take_links(events);
        is_closed = std::ranges::any_of(events, [](const LinkEvent& event) {
            return event.kind == LinkEvent::Kind::closed;
        });
    }
    CHECK(is_closed);
}

TEST_CASE("a member without a hop is named, and the group does without hops") {
    Pair pair;
    pair.places[1].clear();
    const auto objection = HopFabric{}.objection(pair.places);
    REQUIRE(objection);
    CHECK(objection->member == Rank{1});
    CHECK_FALSE(HopFabric{}.objection({pair.places[0]}));
}

}  // namespace
}  // namespace stage::hop

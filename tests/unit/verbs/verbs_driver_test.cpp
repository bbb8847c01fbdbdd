// Tests the driver by a fake device.
#include "transport/verbs/verbs_driver.h"

#include "tests/unit/verbs/fake_device.h"

#include <catch2/catch.hpp>

#include <poll.h>

#include <numeric>

namespace stage::verbs {
namespace {

using test::FakeNet;
using test::FakePlan;
using test::FakePortPlan;

constexpr std::size_t kRingBytes = 1U << 20U;  ///< 256 buffers for the group, 64 for peers.

constexpr TrainTarget kToGroup{.to_group = true, .peer = Rank{}};

TrainTarget to_peer(Rank rank) {
    return {.to_group = false, .peer = rank};
}

std::vector<std::byte> some_bytes(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
    }
    return bytes;
}

/// A group of drivers in one network; rank 0 is the source.
class Group {
  public:
    explicit Group(std::uint16_t members, const FakePlan& plan = {}) : net{plan} {
        std::vector<QueuePairs> all;
        std::vector<UdAddress> peers;
        for (std::uint16_t rank = 0; rank < members; ++rank) {
            ports.emplace_back().facts = test::facts_of_host(static_cast<std::uint8_t>(rank));
            auto pairs = open_queue_pairs(open_fake(net, ports.back()), kRingBytes);
            REQUIRE(pairs);
            REQUIRE(join_group(*pairs, *Address::parse("239.1.2.3", 0)));
            peers.push_back({.gid = ports.back().facts.gid,
                             .queue_pair = pairs->peers->number(),
                             .qkey = pairs->peers_qkey});
            all.push_back(*std::move(pairs));
        }
        for (std::uint16_t rank = 0; rank < members; ++rank) {
            drivers.push_back(std::make_unique<VerbsDriver>(
                std::move(all[rank]), peers, Rank{rank}, Rank{0}));
        }
    }

    FakeNet net;
    std::deque<FakePortPlan> ports;
    std::vector<std::unique_ptr<VerbsDriver>> drivers;
};

struct Sending {
    std::vector<std::byte> bytes;
    std::vector<Bytes> pieces;
    Train train;

    Sending(std::size_t packets, std::uint32_t packet_bytes, TrainTarget target)
        : bytes{some_bytes(packets * packet_bytes - packet_bytes / 2)} {
        // Pieces end anywhere.
        const Bytes all{bytes};
        const std::size_t cut = all.size() / 3;
        pieces = {all.first(cut), all.subspan(cut, 0), all.subspan(cut)};
        train = {.target = target,
                 .pieces = pieces,
                 .bytes = bytes.size(),
                 .packet_bytes = packet_bytes};
    }
};

std::vector<std::byte> joined(const std::vector<ReceivedPacket>& packets) {
    std::vector<std::byte> all;
    for (const ReceivedPacket& one : packets) {
        all.insert(all.end(), one.bytes.begin(), one.bytes.end());
    }
    return all;
}

/// Until its handle to the peer is made, what is sent to it is lost.
void await_handle(VerbsDriver& from, Rank peer, VerbsDriver& to) {
    const Sending probe{1, 64, to_peer(peer)};
    std::vector<ReceivedPacket> packets;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (packets.empty() && std::chrono::steady_clock::now() < until) {
        REQUIRE(from.send(probe.train));
        REQUIRE(to.receive(packets, {}));
        std::this_thread::yield();
    }
    REQUIRE_FALSE(packets.empty());
    while (!packets.empty()) {
        packets.clear();
        REQUIRE(to.receive(packets, {}));
    }
}

bool is_readable(int descriptor) {
    pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a train to the group arrives at the others, packet by packet, and not at its own") {
    Group group{3};
    const Sending sending{5, 1000, kToGroup};
    const auto sent = group.drivers[0]->send(sending.train);
    REQUIRE(sent);
    CHECK(*sent == Sent::all);
    for (const std::size_t rank : {1U, 2U}) {
        std::vector<ReceivedPacket> packets;
        REQUIRE(group.drivers[rank]->receive(packets, {}));
        REQUIRE(packets.size() == 5);
        CHECK(packets.front().bytes.size() == 1000);
        CHECK(packets.back().bytes.size() == 500);
        CHECK(packets.front().to_group);
        CHECK(joined(packets) == sending.bytes);
        CHECK(group.drivers[rank]->counters().packets_received == 5);
    }
    std::vector<ReceivedPacket> own;
    REQUIRE(group.drivers[0]->receive(own, {}));
    CHECK(own.empty());
    CHECK(group.drivers[0]->counters().packets_sent == 5);
}

TEST_CASE("a train to a peer arrives there alone, once its address handle is made") {
    Group group{3};
    await_handle(*group.drivers[2], Rank{1}, *group.drivers[1]);
    const Sending sending{2, 300, to_peer(Rank{1})};
    REQUIRE(group.drivers[2]->send(sending.train));
    std::vector<ReceivedPacket> packets;
    REQUIRE(group.drivers[1]->receive(packets, {}));
    CHECK(joined(packets) == sending.bytes);
    REQUIRE_FALSE(packets.empty());
    CHECK_FALSE(packets.front().to_group);
    packets.clear();
    REQUIRE(group.drivers[0]->receive(packets, {}));
    CHECK(packets.empty());
}

TEST_CASE("a handle that takes long holds up nothing but its peer's packets") {
    Group group{2, {.holds_handles = true}};
    const Sending to_one{1, 100, to_peer(Rank{1})};
    const auto sent = group.drivers[0]->send(to_one.train);
    REQUIRE(sent);
    CHECK(*sent == Sent::all);
    CHECK(group.drivers[0]->counters().packets_sent == 0);
    const Sending to_all{1, 100, kToGroup};
    REQUIRE(group.drivers[0]->send(to_all.train));
    std::vector<ReceivedPacket> packets;
    REQUIRE(group.drivers[1]->receive(packets, {}));
    CHECK(packets.size() == 1);
    group.net.finish_handles();
    await_handle(*group.drivers[0], Rank{1}, *group.drivers[1]);
}

TEST_CASE("packets stay as they are until the next receive") {
    Group group{2};
    const Sending first{64, 4000, kToGroup};
    std::vector<ReceivedPacket> packets;
    for (int i = 0; i < 4; ++i) {  // All 256 buffers.
        REQUIRE(group.drivers[0]->send(first.train));
    }
    REQUIRE(group.drivers[1]->receive(packets, {}));
    REQUIRE(packets.size() == 256);
    const Sending second{1, 999, kToGroup};
    REQUIRE(group.drivers[0]->send(second.train));  // No buffer is free: lost.
    const std::span kept = std::span{packets}.first(64);
    CHECK(joined({kept.begin(), kept.end()}) == first.bytes);
    packets.clear();
    REQUIRE(group.drivers[1]->receive(packets, {}));
    CHECK(packets.empty());
    REQUIRE(group.drivers[0]->send(second.train));
    REQUIRE(group.drivers[1]->receive(packets, {}));
    CHECK(joined(packets) == second.bytes);
}

TEST_CASE("a full ring is counted once") {
    Group group{2};
    const Sending train{64, 1000, kToGroup};
    for (int i = 0; i < 5; ++i) {
        REQUIRE(group.drivers[0]->send(train.train));
    }
    std::vector<ReceivedPacket> packets;
    REQUIRE(group.drivers[1]->receive(packets, {.peers = true, .stream = true}));
    CHECK(packets.size() == 256);
    CHECK(group.drivers[1]->counters().socket_overflow == 1);
    packets.clear();
    REQUIRE(group.drivers[1]->receive(packets, {}));
    CHECK(packets.empty());
    CHECK(group.drivers[1]->counters().socket_overflow == 1);
    CHECK(group.drivers[1]->counters().group_fill == 0);
}

TEST_CASE("the device sends as many packets as there are buffers, and says when it has room") {
    Group group{2, {.holds_sends = true}};
    VerbsDriver& source = *group.drivers[0];
    const Sending train{64, 100, kToGroup};
    for (int i = 0; i < 8; ++i) {
        const auto sent = source.send(train.train);
        REQUIRE(sent);
        CHECK(*sent == Sent::all);
    }
    const auto refused = source.send(train.train);
    REQUIRE(refused);
    CHECK(*refused == Sent::would_block);
    CHECK(source.counters().send_refused == 1);
    CHECK(source.outlet_events() == POLLIN);
    CHECK_FALSE(is_readable(source.outlet_descriptor(0)));
    group.net.finish_sends();
    CHECK(is_readable(source.outlet_descriptor(0)));
    const auto again = source.send(train.train);
    REQUIRE(again);
    CHECK(*again == Sent::all);
    CHECK_FALSE(is_readable(source.outlet_descriptor(0)));
}

TEST_CASE("what arrives before a wait is not slept over") {
    Group group{2};
    VerbsDriver& receiver = *group.drivers[1];
    const int stream = receiver.stream_descriptor();
    const Sending train{1, 100, kToGroup};
    std::vector<ReceivedPacket> packets;

    CHECK(receiver.prepare_wait({}));
    CHECK_FALSE(is_readable(stream));
    REQUIRE(group.drivers[0]->send(train.train));
    CHECK(is_readable(stream));
    REQUIRE(receiver.receive(packets, {}));
    CHECK(packets.size() == 1);
    CHECK_FALSE(is_readable(stream));

    REQUIRE(group.drivers[0]->send(train.train));  // Makes no event: nothing is awaited.
    CHECK_FALSE(is_readable(stream));
    CHECK_FALSE(receiver.prepare_wait({}));
    CHECK(receiver.prepare_wait({.peers = true, .stream = false}));
    packets.clear();
    REQUIRE(receiver.receive(packets, {}));
    CHECK(packets.size() == 1);
    CHECK(receiver.prepare_wait({}));
}

TEST_CASE("an event that comes after its packet was received ends one wait and not all") {
    Group group{2, {.holds_events = true}};
    VerbsDriver& receiver = *group.drivers[1];
    const int stream = receiver.stream_descriptor();
    const Sending train{1, 100, kToGroup};
    std::vector<ReceivedPacket> packets;

    CHECK(receiver.prepare_wait({}));
    REQUIRE(group.drivers[0]->send(train.train));
    REQUIRE(receiver.receive(packets, {}));
    CHECK(packets.size() == 1);
    CHECK(receiver.prepare_wait({}));
    group.net.finish_events();
    CHECK(is_readable(stream));
    packets.clear();
    REQUIRE(receiver.receive(packets, {}));
    CHECK(packets.empty());
    CHECK(receiver.prepare_wait({}));
    CHECK_FALSE(is_readable(stream));
    REQUIRE(group.drivers[0]->send(train.train));
    group.net.finish_events();
    CHECK(is_readable(stream));
}

TEST_CASE("lost, doubled and reordered datagrams are what the network made of them") {
    Group group{2, {.loses_every = 10, .doubles_every = 7, .reorders_every = 6}};
    const Sending train{60, 100, kToGroup};
    REQUIRE(group.drivers[0]->send(train.train));
    std::vector<ReceivedPacket> packets;
    REQUIRE(group.drivers[1]->receive(packets, {}));
    CHECK(packets.size() > 50);
    CHECK(packets.size() != 60);
    CHECK(joined(packets) != train.bytes);
}

TEST_CASE("a device that goes away ends the session with its name") {
    Group group{2};
    group.ports[0].has_gone = true;
    std::vector<ReceivedPacket> packets;
    const auto received = group.drivers[0]->receive(packets, {});
    REQUIRE_FALSE(received);
    CHECK(received.error().sentence() == "fake0 port 1: the device has gone");
    CHECK(received.error().blame() == Blame::node);
    const Sending train{1, 100, kToGroup};
    CHECK_FALSE(group.drivers[0]->send(train.train));
}

// For callgrind: docs/benchmarks/verbs.md has the command and what it found.
TEST_CASE("1,000 trains of 64 packets of 4096 bytes", "[.cost]") {
    Group group{2};
    const Sending train{64, 4096, kToGroup};
    std::size_t received = 0;
    std::vector<ReceivedPacket> packets;
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(group.drivers[0]->send(train.train));
        packets.clear();
        REQUIRE(group.drivers[1]->receive(packets, {}));
        received += packets.size();
    }
    CHECK(received == 64'000);
}

}  // namespace stage::verbs

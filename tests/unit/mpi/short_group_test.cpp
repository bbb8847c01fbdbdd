// Tests short messages between members: by UDP sockets and by RDMA devices that are simulated.
#include "stager/mpi/bcast/short_group.h"

#include "tests/unit/verbs/fake_device.h"
#include "transport/os/route.h"
#include "transport/verbs/verbs_fabric.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

namespace stage {
namespace {

using verbs::test::FakeNet;
using verbs::test::FakePlan;
using verbs::test::FakePortPlan;

constexpr std::size_t kMembers = 3;
const Address kGroup{.ip = ip_v4(0xefc04411), .port = 31117};

ShortConfig config_of(std::size_t rank) {
    ShortConfig config{.key = {},
                       .session = {},
                       .members = std::vector<seal::Incarnation>(kMembers),
                       .rank = Rank{static_cast<std::uint16_t>(rank)}};
    config.session.front() = std::byte{7};
    config.key.front() = std::byte{9};
    for (std::size_t i = 0; i < kMembers; ++i) {
        config.members[i].front() = static_cast<std::byte>(i + 1);
    }
    return config;
}

std::vector<std::byte> message_of(std::size_t length) {
    std::vector<std::byte> message(length);
    for (std::size_t i = 0; i < length; ++i) {
        message[i] = static_cast<std::byte>((i * 7 + i / 256) & 0xffU);
    }
    return message;
}

std::unique_ptr<ShortDatagrams> by_fake(FakeNet& net, FakePortPlan& port, std::size_t rank) {
    const verbs::VerbsFabric fabric{
        [&](const verbs::PortPlan&) { return Result{open_fake(net, port)}; }};
    auto endpoint = fabric.open({.rails = {{.name = "h", .address = {.ip = ip_v4(1)}}},
                                 .ports = {},
                                 .dscp = 0,
                                 .buffer_bytes = 1U << 20U});
    REQUIRE(endpoint);
    REQUIRE(fabric.place(*endpoint));
    const Rank own{static_cast<std::uint16_t>(rank)};
    auto joined = fabric.join(*std::move(endpoint),
                              {.own = own,
                               .source = own,
                               .places = {},
                               .group = [](std::size_t /*rails*/) { return kGroup; },
                               .data_ports = {}});
    REQUIRE(joined);
    return short_by_driver(std::move(joined->driver));
}

/// What arrives within a second.
std::vector<std::byte> arrived(ShortGroup& group, std::uint64_t call, std::size_t length) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    Bytes message{};
    while (message.empty() && std::chrono::steady_clock::now() < until) {
        message = group.receive(call, Rank{0}, length);
    }
    return {message.begin(), message.end()};
}

struct FakeMembers {
    explicit FakeMembers(const FakePlan& plan) : net{plan} {
        for (std::size_t rank = 0; rank < kMembers; ++rank) {
            ports[rank].facts = verbs::test::facts_of_host(static_cast<std::uint8_t>(rank + 1));
            groups.emplace_back(config_of(rank), by_fake(net, ports[rank], rank));
        }
    }

    FakeNet net;
    std::array<FakePortPlan, kMembers> ports;
    std::vector<ShortGroup> groups;
};

}  // namespace

TEST_CASE("a short message reaches all members by RDMA, whatever its length") {
    FakeMembers members{{}};
    std::uint64_t call = 0;
    for (const std::size_t length : {1U, 1024U, 1025U, 5000U, 8192U}) {
        CAPTURE(length);
        const std::vector<std::byte> message = message_of(length);
        members.groups[0].send(call, message);
        CHECK(arrived(members.groups[1], call, length) == message);
        CHECK(arrived(members.groups[2], call, length) == message);
        ++call;
    }
}

TEST_CASE(
    "hundreds of short messages by RDMA are taken in their order or missed, never mixed") {
    FakeMembers members{{.loses_every = 50, .doubles_every = 7, .reorders_every = 5}};
    int whole = 0;
    for (std::uint64_t call = 0; call < 400; ++call) {
        const std::vector<std::byte> message = message_of(1 + call % 3000);
        members.groups[0].send(call, message);
        const Bytes got = members.groups[1].receive(call, Rank{0}, message.size());
        CHECK((got.empty() || std::ranges::equal(got, message)));
        whole += got.empty() ? 0 : 1;
    }
    CHECK(whole > 300);
    CHECK(whole < 400);
}

TEST_CASE("an RDMA device that goes away carries no short message and does no harm") {
    FakeMembers members{{}};
    members.ports[1].has_gone = true;
    for (std::uint64_t call = 0; call < 3; ++call) {
        members.groups[0].send(call, message_of(100));
        members.groups[1].send(call, message_of(100));
        static_cast<void>(members.groups[1].receive(call, Rank{0}, 100));
        CHECK(arrived(members.groups[2], call, 100) == message_of(100));
    }
}

TEST_CASE("short messages go by UDP, too") {
    const Address loopback{.ip = ip_v4(0x7f000001)};
    const auto interface = interface_of(loopback);
    REQUIRE(interface);
    auto first = short_by_udp(kGroup, loopback, *interface);
    auto second = short_by_udp(kGroup, loopback, *interface);
    REQUIRE((first && second));
    ShortGroup sender{config_of(0), *std::move(first)};
    ShortGroup receiver{config_of(1), *std::move(second)};
    const std::vector<std::byte> message = message_of(3000);
    sender.send(0, message);
    CHECK(arrived(receiver, 0, message.size()) == message);
}

}  // namespace stage

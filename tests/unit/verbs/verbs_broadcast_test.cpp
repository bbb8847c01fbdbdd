// Tests whole broadcasts by devices that lose, double and reorder datagrams.
#include "tests/unit/verbs/fake_device.h"
#include "transport/run/memory/memory_broadcast.h"
#include "transport/verbs/verbs_fabric.h"

#include <catch2/catch.hpp>

#include <thread>

namespace stage::verbs {
namespace {

using test::FakeNet;
using test::FakePlan;
using test::FakePortPlan;

constexpr std::uint16_t kMembers = 3;
constexpr std::size_t kBytes = 3'000'001;

class PatientWatcher final : public MemoryWatcher {
  public:
    bool may_leave(const core::Outcome& /*outcome*/) override { return false; }
};

struct Member {
    Endpoint endpoint;
    std::vector<std::byte> bytes = std::vector<std::byte>(kBytes);
    core::Outcome outcome{};
    DriverCounters counters{};
};

std::vector<std::byte> random_bytes() {
    std::vector<std::byte> bytes(kBytes);
    std::uint32_t state = 1;
    for (std::byte& one : bytes) {
        state = state * 1'664'525U + 1'013'904'223U;
        one = static_cast<std::byte>(state >> 24U);
    }
    return bytes;
}

BroadcastConfig config_of(Rank own, const Carrier& carrier) {
    BroadcastConfig config;
    config.own = own;
    config.source = Rank{0};
    config.carrier = carrier;
    config.ready_timeout = std::chrono::seconds{20};
    config.stall_timeout = std::chrono::seconds{20};
    config.linger = std::chrono::seconds{20};
    config.seed = own.value();
    for (std::uint16_t rank = 0; rank < kMembers; ++rank) {
        config.members.emplace_back();
        config.members.back().fill(static_cast<std::byte>(rank + 1));
    }
    return config;
}

}  // namespace

TEST_CASE("a broadcast by devices that lose, double and reorder is whole at every receiver") {
    const FakePlan faults =
        GENERATE(FakePlan{},
                 FakePlan{.loses_every = 50},
                 FakePlan{.loses_every = 23, .doubles_every = 31, .reorders_every = 17});
    FakeNet net{faults};
    std::deque<FakePortPlan> ports;
    std::vector<Member> members(kMembers);
    std::vector<std::vector<std::byte>> places;
    std::uint8_t host = 0;
    const VerbsFabric fabric{[&](const PortPlan&) -> Result<std::unique_ptr<DevicePort>> {
        ports.emplace_back().facts = test::facts_of_host(++host);
        return open_fake(net, ports.back());
    }};
    for (Member& member : members) {
        EndpointPlan plan{.rails = {{.name = "ib0", .address = *Address::parse("10.0.0.3", 0)}},
                          .ports = {}};
        plan.group = GroupPlan{.first = *Address::parse("239.1.2.3", 6840)};
        auto endpoint = fabric.open(plan);
        REQUIRE(endpoint);
        member.endpoint = *std::move(endpoint);
        const auto place = fabric.place(member.endpoint);
        REQUIRE(place);
        places.push_back(place->bytes);
    }
    members.front().bytes = random_bytes();
    std::vector<std::thread> threads;
    for (std::uint16_t rank = 0; rank < kMembers; ++rank) {
        Member& member = members[rank];
        auto joined = fabric.join(std::move(member.endpoint),
                                  {.own = Rank{rank},
                                   .source = Rank{0},
                                   .places = places,
                                   .group = [](std::size_t) { return Address{}; },
                                   .data_ports = {}});
        REQUIRE(joined);
        threads.emplace_back([&member, rank, one = *std::move(joined)] {
            PatientWatcher watcher;
            member.outcome = broadcast_memory(
                config_of(Rank{rank}, one.carrier), *one.driver, member.bytes, watcher);
            member.counters = one.driver->counters();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const Member& member : members) {
        INFO((member.outcome.why ? member.outcome.why->sentence() : std::string{}));
        CHECK(member.outcome.phase == core::Phase::released);
        CHECK(member.bytes == members.front().bytes);
    }
    // The source multicasts: it sends the object once and what was lost, not once a receiver.
    CHECK(members.front().counters.bytes_sent > kBytes);
    CHECK(members.front().counters.bytes_sent < kBytes * 3 / 2);
}

}  // namespace stage::verbs

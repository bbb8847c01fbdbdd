// Broadcasts over a simulated relay: its time, and what faults do to it.
#include "stager/config/relay_choice.h"
#include "tests/sim/relay/relay_world.h"
#include "transport/core/relay/relay_lag.h"
#include "transport/core/relay/relay_tree.h"

#include <catch2/catch.hpp>

namespace stage::sim {
namespace {

using namespace std::chrono_literals;

double ratio(const RelayWorld& world) {
    const auto held = world.last_held();
    REQUIRE(held);
    return std::chrono::duration<double>(*held) /
           std::chrono::duration<double>(world.wire_time());
}

void expect_all_released(const RelayWorld& world, std::uint32_t members) {
    CHECK(world.faults().empty());
    for (std::uint32_t rank = 0; rank < members; ++rank) {
        CAPTURE(rank);
        CHECK(world.outcome(rank).phase == core::Phase::released);
    }
}

/// All but these were released, and know which were dropped.
void expect_dropped(const RelayWorld& world,
                    std::uint32_t members,
                    const std::vector<std::uint32_t>& dropped) {
    CHECK(world.faults().empty());
    for (std::uint32_t rank = 0; rank < members; ++rank) {
        CAPTURE(rank);
        if (std::ranges::find(dropped, rank) != dropped.end()) {
            CHECK(world.outcome(rank).phase != core::Phase::released);
            continue;
        }
        CHECK(world.outcome(rank).phase == core::Phase::released);
        std::vector<std::uint32_t> known;
        for (const core::DroppedMember& each : world.outcome(rank).dropped) {
            known.push_back(each.rank.value());
        }
        CHECK(known == dropped);
    }
}

TEST_CASE("a chain carries an object in little more than its wire time", "[relay]") {
    for (const std::uint32_t members : {2U, 4U, 16U, 64U}) {
        CAPTURE(members);
        RelayWorld world{{.members = members, .object_bytes = 64U << 20U}};
        world.run(60s);
        expect_all_released(world, members);
        CHECK(ratio(world) < 1.03);
        CHECK(world.bytes_sent(1) < (65U << 20U));
    }
}

TEST_CASE("a chain of 64 carries 1 GiB in 1.03 of its wire time", "[.][relay-long]") {
    RelayWorld world{{.members = 64, .object_bytes = 1U << 30U}};
    world.run(600s);
    expect_all_released(world, 64);
    CHECK(ratio(world) < 1.03);
}

TEST_CASE("two trees carry an object in little more than its wire time", "[relay]") {
    for (const std::uint32_t members : {2U, 3U, 4U, 16U, 65U}) {
        CAPTURE(members);
        RelayWorld world{
            {.members = members, .relay = Relay::two_trees(), .object_bytes = 64U << 20U}};
        world.run(60s);
        expect_all_released(world, members);
        CHECK(ratio(world) < 1.06);
        for (std::uint32_t rank = 0; rank < members; ++rank) {
            CAPTURE(rank);
            CHECK(world.bytes_sent(rank) < (66U << 20U));
            CHECK(world.times_connected(rank) <= 2);
        }
    }
}

TEST_CASE("two trees reach many members soon", "[relay]") {
    RelayPlan plan{.members = 300, .object_bytes = 4U << 20U};
    RelayWorld chain{plan};
    chain.run(60s);
    expect_all_released(chain, plan.members);
    plan.relay = Relay::two_trees();
    RelayWorld trees{plan};
    trees.run(60s);
    expect_all_released(trees, plan.members);
    CHECK(*trees.last_held() * 4 < *chain.last_held() * 3);
}

TEST_CASE("a member of two trees that crashes is passed over", "[relay]") {
    // Of 16: the roots of both trees, children of theirs, and a leaf of both.
    for (const std::uint32_t crashed : {8U, 7U, 4U, 11U, 15U}) {
        CAPTURE(crashed);
        RelayWorld world{{.members = 16,
                          .relay = Relay::two_trees(),
                          .object_bytes = 32U << 20U,
                          .stall_timeout = 3s,
                          .crashes = {{crashed, 1s}}}};
        world.run(60s);
        CHECK(world.faults().empty());
        CHECK(ratio(world) < 1.5);  // Its parent has three children from then on.
        CHECK(world.now() < world.wire_time() * 3 / 2 + 7s);
        CHECK(world.outcome(0).phase == core::Phase::failed);
        CHECK(world.outcome(0).culprit == Rank{static_cast<std::uint16_t>(crashed)});
    }
}

TEST_CASE("where the roots of both trees crash the others complete", "[relay]") {
    RelayWorld world{{.members = 16,
                      .relay = Relay::two_trees(),
                      .object_bytes = 32U << 20U,
                      .stall_timeout = 3s,
                      .crashes = {{7, 1s}, {8, 1500ms}},
                      .drops_failed = true}};
    world.run(60s);
    CHECK(world.faults().empty());
    CHECK(ratio(world) < 2.1);  // The source sends each stripe twice.
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
        CAPTURE(rank);
        const bool has_crashed = rank == 7 || rank == 8;
        CHECK((world.outcome(rank).phase == core::Phase::released) == !has_crashed);
    }
}

TEST_CASE("a member of two trees that stops is left after a moment", "[relay]") {
    RelayWorld world{{.members = 16,
                      .relay = Relay::two_trees(),
                      .object_bytes = 64U << 20U,
                      .stops = {{8, {.from = 1s, .until = 20s}}}}};
    world.run(90s);
    expect_all_released(world, 16);
    for (std::uint32_t rank = 1; rank < 16; ++rank) {
        CAPTURE(rank);
        if (rank != 8) {
            const auto held = world.outcome(rank).held_at->time_since_epoch() - 1s;
            CHECK(held < world.wire_time() * 3 / 2 + 4s);
        }
    }
}

TEST_CASE("a small object reaches many members soon by a tree", "[relay]") {
    const Relay relay =
        choose_relay({.object_bytes = 100'000, .members = 1000, .hop_bytes = 20'000}).relay;
    CHECK(relay.degree() > 1);
    RelayWorld tree{{.members = 1000, .relay = relay, .object_bytes = 100'000}};
    tree.run(60s);
    expect_all_released(tree, 1000);
    RelayWorld chain{{.members = 1000, .relay = {}, .object_bytes = 100'000}};
    chain.run(60s);
    expect_all_released(chain, 1000);
    CHECK(*tree.last_held() * 5 < *chain.last_held());
}

TEST_CASE("a member whose path drops long segments connects to the same parent again",
          "[relay]") {
    const Relay relay = GENERATE(Relay{}, Relay::two_trees());
    CAPTURE(relay.number());
    RelayWorld world{{.members = 6,
                      .relay = relay,
                      .object_bytes = 16U << 20U,
                      .narrow_paths = {{1, 1}, {3, 2}}}};
    world.run(60s);
    expect_all_released(world, 6);
    CHECK(*world.last_held() < world.wire_time() * 5 / 4 + 1500ms);
    const std::uint32_t trees = relay.stripes();
    CHECK(world.times_connected(1) == 2 * trees);
    CHECK(world.times_connected(2) == 1 * trees);
    CHECK(world.times_connected(3) == 3 * trees);
}

TEST_CASE("a member that crashes is passed over", "[relay]") {
    for (const std::uint32_t crashed : {1U, 7U, 15U}) {
        CAPTURE(crashed);
        RelayWorld world{{.members = 16,
                          .object_bytes = 32U << 20U,
                          .stall_timeout = 3s,
                          .crashes = {{crashed, 1s}}}};
        world.run(60s);
        CHECK(world.faults().empty());
        CHECK(ratio(world) < 1.1);
        CHECK(world.now() < world.wire_time() + 7s);  // one time-out of 3 s
        CHECK(world.outcome(0).phase == core::Phase::failed);
        CHECK(world.outcome(0).culprit == Rank{static_cast<std::uint16_t>(crashed)});
    }
}

TEST_CASE("a member that crashes while it finishes is awaited for one time-out", "[relay]") {
    RelayPlan plan{.members = 4, .object_bytes = 16U << 20U, .stall_timeout = 3s};
    const std::uint32_t crashed = GENERATE(1U, 2U, 3U);
    CAPTURE(crashed);
    plan.slow_finishes = {{crashed, 9s}};
    SECTION("with others") {
        plan.crashes = {{crashed, 3s}};
        RelayWorld world{plan};
        world.run(60s);
        CHECK(world.outcome(0).culprit == Rank{static_cast<std::uint16_t>(crashed)});
        CHECK(world.now() < 3s + plan.stall_timeout + 3s);
    }
    SECTION("as the last member") {
        plan.members = crashed + 1;
        plan.crashes = {{crashed, 3s}};
        RelayWorld world{plan};
        world.run(60s);
        CHECK(world.outcome(0).culprit == Rank{static_cast<std::uint16_t>(crashed)});
        CHECK(world.now() < 3s + plan.stall_timeout + 3s);
    }
    SECTION("one that does not crash has the time, though one that is done crashes") {
        const std::uint32_t lost = crashed == 1 ? 2 : 1;
        plan.crashes = {{lost, 3s}};
        RelayWorld world{plan};
        world.run(60s);
        CHECK(world.now() > 9s);
        for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
            CAPTURE(rank);
            CHECK((rank == lost || world.outcome(rank).phase == core::Phase::released));
        }
    }
    SECTION("one that does not crash has the time") {
        RelayWorld world{plan};
        world.run(60s);
        expect_all_released(world, plan.members);
        CHECK(world.now() > 9s);
    }
}

TEST_CASE("where both parents of a member crash it completes all the same", "[relay]") {
    // Of 16, rank 5 has rank 6 above it in the first tree and rank 3 in the second one.
    RelayWorld world{{.members = 16,
                      .relay = Relay::two_trees(),
                      .object_bytes = 32U << 20U,
                      .stall_timeout = 3s,
                      .crashes = {{6, 1s}, {3, 1s}},
                      .drops_failed = true}};
    world.run(60s);
    CHECK(world.faults().empty());
    CHECK(ratio(world) < 2.1);
    CHECK(world.outcome(5).phase == core::Phase::released);
    CHECK(world.times_connected(5) == 4);
}

// The slow member has stepped aside, and is the only one that still makes progress.
TEST_CASE("a fault among those that are done does not make a slow member a failed one",
          "[relay]") {
    RelayPlan plan{.members = 6, .object_bytes = 256U << 20U, .slow_links = {{3, 4'000'000}}};
    SECTION("one stops, and counts twice for a while") {
        plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
        CAPTURE(plan.relay.number());
        plan.stops = {{1, {.from = 18s, .until = 21s}}};
        RelayWorld world{plan};
        world.run(300s);
        expect_all_released(world, plan.members);
    }
    SECTION("one crashes") {
        plan.slow_links = {{3, 2'500'000}};
        plan.crashes = {{1, 26s}};
        RelayWorld world{plan};
        world.run(300s);
        CHECK(world.outcome(1).phase == core::Phase::holding);
        for (const std::uint32_t rank : {0U, 2U, 3U, 4U, 5U}) {
            CAPTURE(rank);
            CHECK(world.outcome(rank).phase == core::Phase::released);
        }
    }
}

TEST_CASE("of a crashed member and others that finish slowly the crashed one failed",
          "[relay]") {
    RelayPlan plan{.members = 6, .object_bytes = 16U << 20U, .stall_timeout = 3s};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    const std::uint32_t crashed = GENERATE(1U, 3U, 4U, 5U);
    CAPTURE(plan.relay.number(), crashed);
    plan.crashes = {{crashed, 5s}};
    for (std::uint32_t rank = 1; rank < plan.members; ++rank) {
        plan.slow_finishes[rank] = 9s;
    }
    SECTION("it is named") {
        RelayWorld world{plan};
        world.run(60s);
        CHECK(world.outcome(0).culprit == Rank{static_cast<std::uint16_t>(crashed)});
    }
    SECTION("it is dropped") {
        plan.drops_failed = true;
        RelayWorld world{plan};
        world.run(60s);
        expect_dropped(world, plan.members, {crashed});
    }
}

// (The source may hear late that the end of a long chain is connected.)
TEST_CASE("a first read that takes longer than a time-out drops no member", "[relay]") {
    const std::uint32_t members = GENERATE(2U, 4U, 100U);
    const Relay relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    const bool has_holder = GENERATE(false, true);
    CAPTURE(members, relay.number(), has_holder);
    RelayPlan plan{.members = members,
                   .relay = relay,
                   .object_bytes = 2U << 20U,
                   .slow_disks = {{0, 200'000}},
                   .stall_timeout = 3s,
                   .drops_failed = true};
    if (has_holder) {
        plan.holders = {1};
    }
    RelayWorld world{plan};
    world.run(60s);
    expect_dropped(world, members, {});
}

// (What it hears late counts as progress when it is heard.)
TEST_CASE("the source soon knows what the end of a long chain does", "[relay]") {
    constexpr std::uint32_t kMembers = 100;
    RelayPlan plan{.members = kMembers,
                   .object_bytes = 32U << 20U,
                   .bytes_per_s = 125'000'000,
                   .chunk_bytes = 16384,
                   .stall_timeout = 6s,
                   .crashes = {{kMembers / 2, 100ms}}};
    RelayWorld world{plan};
    world.run(60s);
    CHECK(world.outcome(0).culprit == Rank{kMembers / 2});
    CHECK(world.now() < plan.stall_timeout + 8s);
}

// Those behind them find a parent before their own time-out, and the source's.
TEST_CASE("where many neighbours are silent, none behind them is dropped", "[relay]") {
    RelayPlan plan{.members = 30, .object_bytes = 128U << 20U, .drops_failed = true};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    CAPTURE(plan.relay.number());
    std::vector<std::uint32_t> silent;
    for (std::uint32_t rank = 5; rank < 20; ++rank) {
        plan.stops[rank] = {.from = 2s, .until = 1000s};
        silent.push_back(rank);
    }
    RelayWorld world{plan};
    world.run(150s);
    expect_dropped(world, plan.members, silent);
}

TEST_CASE("where the source crashes, all members end together", "[relay]") {
    const Relay relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    RelayWorld world{{.members = 12,
                      .relay = relay,
                      .object_bytes = 64U << 20U,
                      .stall_timeout = 6s,
                      .crashes = {{0, 1s}}}};
    world.run(100s);
    CHECK(world.now() < 12s);
    for (std::uint32_t rank = 1; rank < 12; ++rank) {
        CAPTURE(rank);
        CHECK(world.is_over(rank));
        REQUIRE(world.outcome(rank).why);
        CHECK(world.outcome(rank).why->sentence().find("fell silent") != std::string::npos);
    }
}

// Its connections end again and again, and no DATA passes. What it held before joins the sum of
// all blocks each time.
TEST_CASE("a member that connects again for ever is named", "[relay]") {
    RelayPlan plan{.members = 6, .object_bytes = 32U << 20U, .stall_timeout = 6s};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    const std::uint32_t flapping = GENERATE(1U, 3U, 5U);
    plan.flapping[flapping] = GENERATE(50ms, 200ms, 1500ms);
    if (GENERATE(false, true)) {
        plan.held_before[flapping] = {{.first = BlockIndex{0}, .count = 4}};
    }
    CAPTURE(plan.relay.number(),
            flapping,
            plan.flapping[flapping].count(),
            plan.held_before.size());
    SECTION("soon, where the others take long") {
        plan.slow_links[flapping == 5 ? 4 : 5] = 700'000;
    }
    SECTION("soon, where the others hold all") {
    }
    RelayWorld world{plan};
    world.run(100s);
    CHECK(world.faults().empty());
    CHECK(world.outcome(0).phase == core::Phase::failed);
    CHECK(world.outcome(0).culprit == Rank{static_cast<std::uint16_t>(flapping)});
    CHECK(world.now() < 25s);
}

TEST_CASE("where firewalls close all ports each member soon names its parent", "[relay]") {
    RelayPlan plan{.members = 6, .object_bytes = 2U << 20U};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    const auto firewall = GENERATE(RelayPlan::Firewall::rejects, RelayPlan::Firewall::drops);
    CAPTURE(plan.relay.number(), static_cast<int>(firewall));
    const bool is_first_alone = GENERATE(false, true);
    for (std::uint32_t rank = 0; rank < (is_first_alone ? 1 : plan.members); ++rank) {
        plan.firewalls[rank] = firewall;
    }
    RelayWorld world{plan};
    world.run(100s);
    CHECK(world.now() < 40s);
    const core::RelayTree tree{.members = plan.members, .source = Rank{0}, .relay = plan.relay};
    for (std::uint32_t rank = 1; rank < plan.members; ++rank) {
        CAPTURE(rank);
        const core::Outcome& outcome = world.outcome(rank);
        CHECK(outcome.phase == core::Phase::failed);
        CHECK(outcome.is_unconnected == (!is_first_alone || tree.parent(rank) == 0));
        if (outcome.is_unconnected) {
            CHECK(outcome.culprit == Rank{static_cast<std::uint16_t>(tree.parent(rank))});
        }
    }
}

TEST_CASE("a member whose ports are closed is passed over", "[relay]") {
    RelayPlan plan{.members = 8, .object_bytes = 16U << 20U};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    plan.firewalls = {{1, RelayPlan::Firewall::drops},
                      {2, RelayPlan::Firewall::drops},
                      {3, RelayPlan::Firewall::rejects}};
    RelayWorld world{plan};
    world.run(60s);
    expect_all_released(world, plan.members);
}

// Its time-out leaves no time for the silent ones once more.
TEST_CASE("one refusal of the source, behind silent members, is not a closed port", "[relay]") {
    RelayPlan plan{.members = 4, .object_bytes = 16U << 20U, .delay = 60ms};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    CAPTURE(plan.relay.number());
    plan.firewalls = {{1, RelayPlan::Firewall::drops}, {2, RelayPlan::Firewall::drops}};
    const bool is_chain = plan.relay == Relay{};
    plan.cuts = {{3, is_chain ? 4050ms : 2050ms}};  // A SYN of that time is not answered yet.
    RelayWorld world{plan};
    world.run(60s);
    expect_all_released(world, plan.members);
}

// The relay ends before members whose parents in the first tree are silent reach another one.
TEST_CASE("a member that has a parent in one tree hears how the relay ended", "[relay]") {
    RelayPlan plan{
        .members = 9, .relay = Relay::two_trees(), .object_bytes = 10U << 20U, .delay = 69ms};
    SECTION("1, 2 and 3") {
        plan.firewalls = {{2, RelayPlan::Firewall::drops}, {4, RelayPlan::Firewall::drops}};
        plan.refused_store = {5, 3};
    }
    SECTION("6, which is the parent of 5 and, in the second tree, its child") {
        plan.firewalls = {{4, RelayPlan::Firewall::drops}};
        plan.refused_store = {8, 3};
    }
    RelayWorld world{plan};
    world.run(60s);
    for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
        CAPTURE(rank);
        CHECK(world.outcome(rank).culprit.value() == plan.refused_store->first);
        REQUIRE(world.outcome(rank).why);
        CHECK(world.outcome(rank).why->sentence() == "No space left on device");
    }
    CHECK(world.now() < 5s);
}

// All that it knows is true: it does not know of the end, which another member is to blame for.
TEST_CASE("a member that reached none before the end names the closed port of its parent",
          "[relay]") {
    RelayPlan plan{.members = 6,
                   .firewalls = {{4, RelayPlan::Firewall::drops}},
                   .refused_store = std::pair{1U, 0U}};
    RelayWorld world{plan};
    world.run(60s);
    for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
        CAPTURE(rank);
        CHECK(world.outcome(rank).phase == core::Phase::failed);
        CHECK(world.outcome(rank).is_unconnected == (rank == 5));
        CHECK(world.outcome(rank).culprit ==
              Rank{rank == 5 ? std::uint16_t{4} : std::uint16_t{1}});
    }
}

TEST_CASE("a member that is done and connects again for ever hides no crashed one", "[relay]") {
    RelayPlan plan{.members = 6, .object_bytes = 32U << 20U, .stall_timeout = 6s};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    const std::uint32_t again = GENERATE(2U, 5U);
    CAPTURE(plan.relay.number(), again);
    plan.crashes[3] = 1s;
    for (auto at = 1s; at < 100s; at += 1s) {
        plan.cuts.emplace_back(again, at);
    }
    RelayWorld world{plan};
    world.run(100s);
    CHECK(world.outcome(0).phase == core::Phase::failed);
    CHECK(world.outcome(0).culprit == Rank{3});
    CHECK(world.now() < 40s);
}

TEST_CASE("connections that end a few times delay a relay, and fail no member", "[relay]") {
    RelayPlan plan{.members = 8, .object_bytes = 64U << 20U, .stall_timeout = 6s};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    CAPTURE(plan.relay.number());
    for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
        for (auto at = 500ms; at < 5s; at += 300ms) {
            plan.cuts.emplace_back(rank, at + rank * 10ms);
        }
    }
    RelayWorld world{plan};
    world.run(100s);
    expect_all_released(world, plan.members);
}

// The dropped member is a child of the source for a while, with the blocks that it holds, and
// the other one is lost before that ends.
TEST_CASE("a dropped member takes no time from one that finishes and is lost", "[relay]") {
    RelayPlan plan{.members = 3,
                   .object_bytes = 5U << 20U,
                   .delay = 120ms,
                   .slow_finishes = {{1, 4500ms}},
                   .stall_timeout = 6s,
                   .refused_store = std::pair{2U, 3U},
                   .drops_failed = true};
    plan.cuts.emplace_back(1, 1500ms);
    for (auto at = 2900ms; at < 7600ms; at += 200ms) {
        plan.cuts.emplace_back(1, at);
    }
    RelayWorld world{plan};
    world.run(60s);
    expect_dropped(world, 3, {2});
}

TEST_CASE("a member that stops is left after a moment", "[relay]") {
    RelayWorld world{
        {.members = 8, .object_bytes = 64U << 20U, .stops = {{3, {.from = 1s, .until = 20s}}}}};
    world.run(90s);
    expect_all_released(world, 8);
    for (const std::uint32_t rank : {1U, 2U, 4U, 5U, 6U, 7U}) {
        CAPTURE(rank);
        const auto held = world.outcome(rank).held_at->time_since_epoch() - 1s;
        CHECK(held < world.wire_time() + 4s);
    }
}

TEST_CASE("where all members stop for longer than a time-out none blames another", "[relay]") {
    RelayPlan plan{.members = 8, .object_bytes = 64U << 20U, .stall_timeout = 5s};
    plan.relay = GENERATE(Relay{}, Relay::two_trees());
    for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
        plan.stops[rank] = {.from = 1s, .until = 9s + rank * 10ms};
    }
    RelayWorld world{plan};
    world.run(90s);
    expect_all_released(world, plan.members);
    CHECK(world.now() < world.wire_time() + 12s);
}

// It has heard the OFFER only, and wakes after ready_timeout.
TEST_CASE("a member that stops before the first PULSE goes on with the others", "[relay]") {
    RelayPlan plan{.members = 8, .object_bytes = 16U << 20U};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    const std::uint32_t stopped = GENERATE(1U, 3U, 7U);
    CAPTURE(plan.relay.number(), stopped);
    plan.stops = {{stopped, {.from = 5ms, .until = 14s}}};
    RelayWorld world{plan};
    world.run(60s);
    expect_all_released(world, plan.members);
}

TEST_CASE("a member whose disk refuses a block ends the relay with its name", "[relay]") {
    const std::uint32_t culprit = GENERATE(1U, 5U);
    CAPTURE(culprit);
    RelayWorld world{
        {.members = 8, .object_bytes = 16U << 20U, .refused_store = std::pair{culprit, 7U}}};
    world.run(60s);
    CHECK(world.now() < 5s);
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
        CAPTURE(rank);
        CHECK(world.outcome(rank).phase == core::Phase::failed);
        CHECK(world.outcome(rank).culprit == Rank{static_cast<std::uint16_t>(culprit)});
        REQUIRE(world.outcome(rank).why);
        CHECK(world.outcome(rank).why->sentence() == "No space left on device");
    }
}

// The members behind the crashed one connect to its parent while that one ends.
TEST_CASE("a member whose parent crashes as a relay ends hears why it ended", "[relay]") {
    for (auto at = 1900ms; at < 2800ms; at += 20ms) {
        CAPTURE(at.count());
        RelayWorld world{{.members = 8,
                          .object_bytes = 16U << 20U,
                          .delay = 100ms,
                          .crashes = {{3, at}},
                          .firewalls = {{1, RelayPlan::Firewall::rejects}},
                          .refused_store = std::pair{1U, 8U}}};
        world.run(60s);
        for (const std::uint32_t rank : {0U, 1U, 2U, 4U, 5U, 6U, 7U}) {
            CAPTURE(rank);
            CHECK(world.outcome(rank).phase == core::Phase::failed);
            CHECK(world.outcome(rank).culprit == Rank{1});
        }
    }
}

TEST_CASE("where failed members are dropped the others complete", "[relay]") {
    RelayPlan plan{.members = 12, .object_bytes = 32U << 20U, .stall_timeout = 6s};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    plan.drops_failed = true;
    SECTION("one that crashes") {
        plan.crashes = {{1, 1s}};
        RelayWorld world{plan};
        world.run(60s);
        expect_dropped(world, 12, {1});
        CHECK(world.now() < plan.relay.degree() * world.wire_time() + 14s);  // one time-out
    }
    SECTION("one that is stopped") {
        plan.stops = {{1, {.from = 1s, .until = 100s}}};
        RelayWorld world{plan};
        world.run(60s);
        expect_dropped(world, 12, {1});
        CHECK(world.now() < plan.relay.degree() * world.wire_time() + 20s);
    }
    SECTION("one whose disk is full, and one that crashes") {
        plan.refused_store = std::pair{11U, 7U};
        plan.crashes = {{3, 2s}};
        RelayWorld world{plan};
        world.run(60s);
        expect_dropped(world, 12, {3, 11});
    }
    SECTION("one whose disk is full, while another takes its time to finish") {
        plan.refused_store = std::pair{11U, 7U};
        plan.slow_finishes = {{4, 15s}};
        RelayWorld world{plan};
        world.run(60s);
        expect_dropped(world, 12, {11});
    }
}

TEST_CASE("a block that a relaying member damaged is fetched again, by it and below",
          "[relay]") {
    const Relay relay = GENERATE(Relay{}, Relay::two_trees());
    RelayWorld world{{.members = 6,
                      .relay = relay,
                      .object_bytes = 16U << 20U,
                      .damaged = std::pair{2U, 4U}}};
    world.run(60s);
    expect_all_released(world, 6);
    CHECK(ratio(world) < 1.3);
}

// It gives the wrong block to its child until it has verified it. (A block of one chunk is
// wrong eight times in 8 ms.)
TEST_CASE("a damaged block is not requested for ever of a member whose disk is slow",
          "[relay]") {
    const std::uint32_t blocks = GENERATE(11U, 12U);  // So the last one is of either stripe.
    RelayPlan plan{.members = 7,
                   .object_bytes = ((blocks - 1U) << 20U) + 7501,
                   .slow_disks = {{2, 23'047'897}},
                   .chunk_bytes = 16384,
                   .stall_timeout = 6s,
                   .damaged = std::pair{2U, blocks - 1}};
    plan.relay = GENERATE(Relay{}, Relay::tree(2), Relay::two_trees());
    CAPTURE(plan.relay.number(), blocks);
    RelayWorld world{plan};
    world.run(60s);
    expect_all_released(world, plan.members);
}

TEST_CASE("what a member held before is not sent to it", "[relay]") {
    const std::vector<core::BlockRun> most{{.first = BlockIndex{0}, .count = 28}};
    RelayPlan plan{.members = 4, .object_bytes = 32U << 20U};
    plan.relay = GENERATE(Relay{}, Relay::two_trees());
    SECTION("each member") {
        plan.held_before = {{1, most}, {2, most}, {3, most}};
        RelayWorld world{plan};
        world.run(60s);
        expect_all_released(world, 4);
        CHECK(world.bytes_sent(0) < (5U << 20U));
    }
    SECTION("all but the last, which fetches from an ancestor that can give") {
        plan.held_before = {{1, most}, {2, most}};
        RelayWorld world{plan};
        world.run(60s);
        expect_all_released(world, 4);
    }
    SECTION("one whose child may hear of the object first, by the other tree") {
        plan.members = 12;
        plan.held_before = {{9, most}};
        RelayWorld world{plan};
        world.run(60s);
        expect_all_released(world, 12);
    }
    SECTION("a member holds all of it") {
        plan.holders = {2};
        RelayWorld world{plan};
        world.run(60s);
        expect_all_released(world, 4);
    }
    SECTION("every receiver holds all of it") {
        plan.holders = {1, 2, 3};
        RelayWorld world{plan};
        world.run(60s);
        expect_all_released(world, 4);
        CHECK(world.bytes_sent(0) < 100'000);
    }
}

// It stays with none of them until the next PULSE, and needs more than its time-out in all.
TEST_CASE("a member hears of the source while it passes ancestors that lack its blocks",
          "[relay]") {
    RelayPlan plan{.members = 20, .object_bytes = 10'000, .delay = 105ms, .stall_timeout = 6s};
    for (std::uint32_t rank = 1; rank + 1 < plan.members; ++rank) {
        plan.holders.insert(rank);
    }
    RelayWorld world{plan};
    world.run(60s);
    expect_all_released(world, plan.members);
    CHECK(*world.last_held() > plan.stall_timeout);
}

TEST_CASE("a member with a slow disk delays no member but itself", "[relay]") {
    RelayWorld world{
        {.members = 6, .object_bytes = 64U << 20U, .slow_disks = {{2, 3'000'000}}}};
    world.run(120s);
    expect_all_released(world, 6);
    for (const std::uint32_t rank : {1U}) {
        CHECK(world.outcome(rank).held_at->time_since_epoch() - 1s < 2 * world.wire_time());
    }
}

TEST_CASE("a member that paused is not slow, and one that is slow is", "[relay]") {
    core::RelayLag lag{8};
    std::uint32_t own = 0;
    SECTION("paused") {
        for (std::uint32_t parents = 0; parents < 400; parents += 10) {
            own += parents >= 100 && parents < 130 ? 0 : 10;
            CHECK_FALSE(lag.on_pulse(parents, own));
        }
    }
    SECTION("slow") {
        std::uint32_t parents = 0;
        while (parents < 400 && !lag.on_pulse(parents, own)) {
            parents += 10;
            own += 5;
        }
        CHECK(parents == 40);
    }
    SECTION("slow, and as far as the parent") {
        for (std::uint32_t parents = 0; parents < 400; parents += 10) {
            CHECK_FALSE(lag.on_pulse(parents, 400 + parents / 2));
        }
    }
}

TEST_CASE("a member with a slow link steps aside, and delays no member but itself", "[relay]") {
    RelayPlan plan{.members = 9, .object_bytes = 512U << 20U};
    std::vector<std::uint32_t> slow;
    SECTION("none") {
    }
    SECTION("one") {
        slow = {3};
    }
    SECTION("two") {
        slow = {3, 6};
    }
    SECTION("the last, too") {
        slow = {3, 8};
    }
    for (const std::uint32_t rank : slow) {
        plan.slow_links[rank] = plan.bytes_per_s / 2;
    }
    RelayWorld world{plan};
    world.run(300s);
    expect_all_released(world, plan.members);
    for (std::uint32_t rank = 1; rank < plan.members; ++rank) {
        CAPTURE(rank);
        const bool is_slow = std::ranges::find(slow, rank) != slow.end();
        const std::chrono::duration<double> held =
            world.outcome(rank).held_at->time_since_epoch() - 1s;
        CHECK(held / world.wire_time() < (is_slow ? 2 * 1.15 : 1.1));
        CHECK(world.times_connected(rank) <= 1 + slow.size());
    }
}

// The last member's parent stops. The one above that is the slow member, whose parent is the
// last one.
TEST_CASE("two members do not take each other for parent", "[relay]") {
    RelayPlan plan{.members = 6,
                   .object_bytes = 128U << 20U,
                   .slow_links = {{3, 6'250'000}},
                   .stall_timeout = 6s,
                   .stops = {{4, {.from = 8s, .until = 11s}}}};
    RelayWorld world{plan};
    world.run(60s);
    expect_all_released(world, plan.members);
}

TEST_CASE("where a member sends slowly, all below it have its speed, and no less", "[relay]") {
    RelayPlan plan{.members = 9, .object_bytes = 512U << 20U};
    plan.slow_uplinks[2] = plan.bytes_per_s / 2;
    RelayWorld world{plan};
    world.run(300s);
    expect_all_released(world, plan.members);
    CHECK(ratio(world) < 2.1);
    for (std::uint32_t rank = 1; rank < plan.members; ++rank) {
        CAPTURE(rank);
        CHECK(world.times_connected(rank) <= 2);
    }
}

// Its own timer and the source's run out together.
TEST_CASE("of the members behind a disk that hangs none is dropped with it", "[relay]") {
    RelayPlan plan{.members = 8,
                   .object_bytes = 256U << 20U,
                   .bytes_per_s = 1'250'000'000,
                   .disk_bytes_per_s = 4'000'000'000,
                   .slow_disks = {{3, 1000}}};
    plan.relay = GENERATE(Relay{}, Relay::two_trees());
    plan.stall_timeout = GENERATE(6s, 30s);
    CAPTURE(plan.relay.number(), plan.stall_timeout.count());
    plan.drops_failed = true;
    RelayWorld world{plan};
    world.run(120s);
    expect_dropped(world, plan.members, {3});
}

TEST_CASE("a block that is requested again in mid-block is described again", "[relay]") {
    RelayWorld world{{.members = 7,
                      .object_bytes = 10'322'672,
                      .slow_links = {{3, 8'851'728}},
                      .chunk_bytes = 1444,
                      .stall_timeout = 6s,
                      .stops = {{2, {.from = 559ms, .until = 4020ms}}},
                      .damaged = std::pair{1U, 9U}}};
    world.run(60s);
    expect_all_released(world, 7);
}

}  // namespace
}  // namespace stage::sim

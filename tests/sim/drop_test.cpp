// Failed receivers are dropped, and the others complete (docs/protocol, 11).
#include "tests/sim/world/ran.h"

#include <algorithm>

namespace stage::sim {
namespace {

Plan plan_of(std::uint16_t members, std::uint64_t bytes) {
    Plan plan = lossy_plan(members, bytes, 10'000);
    plan.drops_failed = true;
    plan.link_bytes_per_s = 12'500'000;
    plan.configured_bytes_per_s = 0;
    return plan;
}

std::vector<std::uint16_t> dropped_by(const Ran& ran, std::uint16_t rank) {
    std::vector<std::uint16_t> ranks;
    for (const core::DroppedMember& each : ran.world.host(rank).outcome().dropped) {
        ranks.push_back(each.rank.value());
    }
    return ranks;
}

/// All but these were released, and know which were dropped.
void all_but(const Ran& ran, const std::vector<std::uint16_t>& dropped) {
    INFO(ran.world.report());
    for (std::uint16_t rank = 0; rank < ran.world.plan().members; ++rank) {
        CAPTURE(rank);
        if (std::ranges::find(dropped, rank) != dropped.end()) {
            CHECK(ran.phase(rank) != core::Phase::released);
            continue;
        }
        CHECK(ran.phase(rank) == core::Phase::released);
        CHECK(dropped_by(ran, rank) == dropped);
    }
}

/// When the last of the others held the object.
Duration last_held(const Ran& ran, const std::vector<std::uint16_t>& dropped) {
    Duration last{};
    for (std::uint16_t rank = 0; rank < ran.world.plan().members; ++rank) {
        if (std::ranges::find(dropped, rank) == dropped.end()) {
            last = std::max(last, ran.world.held_after(rank));
        }
    }
    return last;
}

}  // namespace

TEST_CASE("a member killed in mid-transfer is dropped, and no other loses time", "[scenario]") {
    Plan plan = plan_of(9, 24 * kMiB);
    const Ran calm{plan};
    plan.member[4].crash_at = seconds{1};
    const Ran ran{plan};
    all_but(ran, {4});
    CHECK(last_held(ran, {4}) < last_held(calm, {4}) * 11 / 10);
    CHECK(ran.world.ran() < calm.world.ran() + plan.stall_timeout * 5 / 4);
    const auto& dropped = ran.world.host(0).outcome().dropped;
    REQUIRE(dropped.size() == 1);
    CHECK(dropped[0].why.sentence().find("nothing was heard") != std::string::npos);
}

TEST_CASE("a member that dies before the first byte costs one ready time-out", "[scenario]") {
    Plan plan = plan_of(9, 8 * kMiB);
    plan.member[4].crash_at = Duration{0};
    const Ran ran{plan};
    all_but(ran, {4});
    CHECK(ran.world.ran() < plan.ready_timeout + plan.stall_timeout);
}

TEST_CASE("a member that dies after its DONE is not dropped", "[scenario]") {
    Plan plan = plan_of(9, 8 * kMiB);
    plan.member[7].disk_bytes_per_s = 2'000'000;  // So that the group waits for another.
    plan.member[4].crash_at = seconds{3};
    const Ran ran{plan};
    CHECK(ran.world.host(4).held_at());
    CHECK(ran.phase(7) == core::Phase::released);
    CHECK(dropped_by(ran, 0).empty());
    CHECK(ran.world.ran() < plan.stall_timeout * 2);
}

TEST_CASE("two members that die at once cost one time-out", "[scenario]") {
    Plan plan = plan_of(9, 24 * kMiB);
    plan.member[4].crash_at = seconds{1};
    plan.member[8].crash_at = seconds{1};
    const Ran ran{plan};
    all_but(ran, {4, 8});
    CHECK(ran.world.ran() < plan.wire_time() * 2 + plan.stall_timeout * 5 / 4 + seconds{1});
}

TEST_CASE("the last two members die, when all others hold the object", "[scenario]") {
    Plan plan = plan_of(9, 8 * kMiB);
    for (const std::uint16_t rank : {std::uint16_t{4}, std::uint16_t{8}}) {
        plan.member[rank].disk_bytes_per_s = 1'000'000;
        plan.member[rank].crash_at = seconds{3};
    }
    const Ran ran{plan};
    all_but(ran, {4, 8});
}

TEST_CASE("an inner member of the ACK tree dies, and those below it are heard", "[scenario]") {
    Plan plan = plan_of(40, 8 * kMiB);
    plan.member[1].crash_at = milliseconds{300};
    plan.member[2].crash_at = milliseconds{300};
    const Ran ran{plan};
    all_but(ran, {1, 2});
}

TEST_CASE("a full disk is dropped at once", "[scenario]") {
    Plan plan = plan_of(6, 8 * kMiB);
    const Ran calm{plan};
    plan.member[3].store_fails_at = 5;
    const Ran ran{plan};
    all_but(ran, {3});
    CHECK(ran.world.ran() < calm.world.ran() + seconds{3});
    CHECK(ran.world.host(3).outcome().culprit == Rank{3});
    CHECK(ran.world.host(0).outcome().dropped[0].why.sentence().find("No space") !=
          std::string::npos);
}

TEST_CASE("a member whose disk hangs is dropped and learns it", "[scenario]") {
    Plan plan = plan_of(6, 8 * kMiB);
    plan.member[2].is_disk_stuck = true;
    const Ran ran{plan};
    all_but(ran, {2});
    CHECK(ran.phase(2) == core::Phase::failed);
    CHECK(ran.world.host(2).outcome().culprit == Rank{2});
}

TEST_CASE("a member that is cut off for too long learns that it was dropped", "[scenario]") {
    Plan plan = plan_of(6, 24 * kMiB);
    plan.linger = seconds{20};
    plan.member[2].abort_at = std::chrono::hours{2};  // marks it as the one at fault
    plan.partitions.push_back({.members = {2},
                               .begin = seconds{1},
                               .end = seconds{1} + plan.stall_timeout * 2,
                               .hears_nothing = false,
                               .says_nothing = true});
    const Ran ran{plan};
    all_but(ran, {2});
    CHECK(ran.phase(2) == core::Phase::failed);
    CHECK(ran.world.host(2).outcome().why->sentence().find("dropped") != std::string::npos);
}

TEST_CASE("half of the representatives die, and the pass goes on", "[scenario]") {
    Plan plan = plan_of(9, 24 * kMiB);
    const Ran calm{plan};
    for (std::uint16_t rank = 2; rank <= 8; rank = static_cast<std::uint16_t>(rank + 2)) {
        plan.member[rank].crash_at = milliseconds{500};
    }
    const Ran ran{plan};
    all_but(ran, {2, 4, 6, 8});
    CHECK(last_held(ran, {2, 4, 6, 8}) < last_held(calm, {}) + plan.stall_timeout);
}

TEST_CASE("a failure of the source, or of every receiver, concerns all members", "[scenario]") {
    Plan plan = plan_of(6, 8 * kMiB);
    SECTION("it can't be read") {
        plan.member[0].store_fails_at = 5;
        const Ran ran{plan};
        ran.all_name(0, "can't be read");
    }
    SECTION("no receiver is left") {
        for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
            plan.member[rank].store_fails_at = rank;
        }
        const Ran ran{plan};
        for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
            CHECK(ran.phase(rank) == core::Phase::failed);
        }
    }
}

TEST_CASE("a very small object, and one without a fence, go without the dead", "[scenario]") {
    for (const bool is_small : {true, false}) {
        CAPTURE(is_small);
        Plan plan = plan_of(6, is_small ? 4096 : 8 * kMiB);
        plan.is_unfenced = !is_small;
        plan.member[4].crash_at = Duration{0};
        const Ran ran{plan};
        all_but(ran, {4});
    }
}

TEST_CASE("with the policy off a killed member fails all, as before", "[scenario]") {
    Plan plan = plan_of(9, 24 * kMiB);
    plan.drops_failed = false;
    plan.member[4].crash_at = seconds{1};
    const Ran ran{plan};
    ran.all_name(4, "nothing was heard");
    CHECK(dropped_by(ran, 0).empty());
}

}  // namespace stage::sim

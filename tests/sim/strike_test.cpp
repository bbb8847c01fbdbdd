// Tests each fault at each event, of the source and of a receiver.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

namespace stage::sim {
namespace {

constexpr Seen kSeen[] = {Seen::ready,
                          Seen::lacking,
                          Seen::request,
                          Seen::report,
                          Seen::done,
                          Seen::holds,
                          Seen::data};

Plan plan_of(const Strike& strike) {
    Plan plan = lossy_plan(7, 2 * kMiB, 30'000);
    plan.configured_bytes_per_s = 0;
    plan.strikes = {strike};
    return plan;
}

}  // namespace

TEST_CASE("a member that ends at any event is named or dropped, and no member hangs",
          "[scenario]") {
    for (const Seen when : kSeen) {
        for (const Harm harm : {Harm::crash, Harm::abort}) {
            for (const std::uint16_t member : {std::uint16_t{0}, std::uint16_t{3}}) {
                for (const bool drops : {false, true}) {
                    CAPTURE(static_cast<int>(when), static_cast<int>(harm), member, drops);
                    Plan plan =
                        plan_of({.when = when, .of = {}, .harm = harm, .member = member});
                    plan.member[member].is_struck = true;
                    plan.drops_failed = drops;
                    const Ran ran{plan};
                    CHECK(ran.phase(1) != core::Phase::moving);
                    if (drops && member != 0) {
                        CHECK(ran.phase(1) == core::Phase::released);
                    }
                }
            }
        }
    }
}

TEST_CASE("a member that is cut off for half a second at any event is waited for",
          "[scenario]") {
    for (const Seen when : kSeen) {
        for (const Harm harm : {Harm::cut_off, Harm::deafen, Harm::mute}) {
            for (const std::uint16_t member : {std::uint16_t{0}, std::uint16_t{3}}) {
                CAPTURE(static_cast<int>(when), static_cast<int>(harm), member);
                const Ran ran{plan_of({.when = when,
                                       .of = {},
                                       .nth = 2,
                                       .harm = harm,
                                       .member = member,
                                       .lasts = milliseconds{500}})};
                ran.all_released();
            }
        }
    }
}

// A store that fails ends its member, so a disk that will have room soon is full to it.
TEST_CASE("a disk that is full for a moment ends its member, one that stands does not",
          "[scenario]") {
    Plan plan = lossy_plan(7, 24 * kMiB, 10'000);
    plan.drops_failed = true;
    plan.member[2].disk_stands_at = milliseconds{40};
    plan.member[2].disk_stands_for = seconds{2};
    plan.member[3].disk_full_at = milliseconds{40};
    plan.member[3].disk_full_for = milliseconds{30};
    const Ran ran{plan};
    CHECK(ran.phase(2) == core::Phase::released);
    CHECK(ran.phase(3) == core::Phase::failed);
    CHECK(ran.world.held_after(1) < seconds{1});
    CHECK(ran.world.held_after(2) > seconds{2});
}

}  // namespace stage::sim

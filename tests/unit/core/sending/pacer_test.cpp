#include "transport/core/sending/pacer.h"

#include "tests/unit/core/parts.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("a pacer begins with a burst, and then tokens accumulate with time") {
    Pacer pacer{{}, 100'000'000, 1500};
    CHECK(pacer.burst_bytes() == 25'000);  // 250 us
    CHECK(pacer.credit(kStart) == 25'000);
    pacer.charge(25'000);
    CHECK(pacer.credit(kStart) == 0);
    CHECK(pacer.credit(kStart + microseconds{10}) == 1000);
    CHECK(pacer.burst_at(kStart + microseconds{10}) >= kStart + microseconds{250});
    CHECK(pacer.burst_at(kStart + microseconds{10}) <= kStart + microseconds{252});
}

TEST_CASE("a burst is two packets at least and a quarter of a port's buffer at most") {
    CHECK(Pacer({}, 700'000, 1500).burst_bytes() == 3000);
    CHECK(Pacer({}, 1'000'000'000, 1500).burst_bytes() == 32U << 10U);
    CHECK(Pacer({}, 1'000'000'000, 9000).burst_bytes() == 32U << 10U);
    CHECK(Pacer({}, 12'500'000'000, 1500).burst_bytes() == 250'000);  // or 20 us
}

TEST_CASE("few packets are one burst, however slow the path, up to 4 ms") {
    CHECK(Pacer({}, 1'500'000, 1500).burst_bytes() == 6000);     // 4 ms
    CHECK(Pacer({}, 12'500'000, 1500).burst_bytes() == 12'000);  // eight packets
    CHECK(Pacer({}, 60'000'000, 1500).burst_bytes() == 15'000);  // 250 us
}

TEST_CASE("a wake-up that is late by a burst loses nothing") {
    for (const std::uint64_t rate :
         {125'000ULL, 700'000ULL, 100'000'000ULL, 1'250'000'000ULL, 12'500'000'000ULL}) {
        Pacer pacer{{}, rate, 1500};
        static_cast<void>(pacer.credit(kStart));
        pacer.charge(pacer.burst_bytes());
        const Instant late = kStart + 2 * (pacer.burst_at(kStart) - kStart);
        CHECK(pacer.credit(late) >= 2 * std::int64_t{pacer.burst_bytes()});
        CHECK_FALSE(pacer.take_forgotten());
    }
}

TEST_CASE("old credit is forgotten, never repaid as a blast") {
    Pacer slow{{}, 5'000'000, 1500};
    static_cast<void>(slow.credit(kStart));
    CHECK(slow.credit(kStart + seconds{9}) == 40'000);  // 8 ms of it
    Pacer fast{{}, 1'000'000'000, 1500};
    static_cast<void>(fast.credit(kStart));
    CHECK(fast.credit(kStart + seconds{9}) == 64U << 10U);
}

TEST_CASE("a debt is repaid in full before anything leaves") {
    Pacer pacer{{}, 100'000'000, 1500};
    static_cast<void>(pacer.credit(kStart));
    pacer.charge(1'025'000);
    CHECK(pacer.credit(kStart + milliseconds{9}) == -100'000);
    CHECK(pacer.credit(kStart + milliseconds{10}) == 0);
}

TEST_CASE("however often it is asked, a pacer has the same tokens") {
    const auto seed = GENERATE(range(1U, 20U));
    CAPTURE(seed);
    Prng prng{seed};
    const std::uint64_t rate = 250'000 + prng.below(std::uint64_t{12'500'000'000});
    Pacer pacer{{}, rate, 1500};
    Instant now = kStart;
    static_cast<void>(pacer.credit(now));
    std::uint64_t sent = 0;
    const Duration step_max{std::max<std::int64_t>(
        static_cast<std::int64_t>(500.0 * 1e9 / static_cast<double>(rate)), 2)};
    for (int i = 0; i < 20'000; ++i) {
        now += Duration{static_cast<Duration::rep>(
            prng.below(static_cast<std::uint64_t>(step_max.count())))};
        while (pacer.credit(now) > 0) {
            pacer.charge(1500);
            sent += 1500;
        }
    }
    const double allowed =
        static_cast<double>((now - kStart).count()) * static_cast<double>(rate) / 1e9;
    CHECK(static_cast<double>(sent) <= allowed + pacer.burst_bytes() + 1500);
    CHECK(static_cast<double>(sent) >= allowed - 1500);
}

TEST_CASE("another rate counts from now on") {
    Pacer pacer{{}, 100'000'000, 1500};
    static_cast<void>(pacer.credit(kStart));
    pacer.charge(25'000);
    pacer.set_rate(kStart + microseconds{10}, 10'000'000);
    CHECK(pacer.credit(kStart + microseconds{20}) == 1000 + 100);
}

TEST_CASE("with a burst factor the pacer keeps more tokens, and says when it discarded some") {
    Pacer pacer{{}, 6'250'000, 1500};
    static_cast<void>(pacer.credit(kStart));
    CHECK(pacer.credit(kStart + milliseconds{1}) == 12'000 + 6250);
    CHECK_FALSE(pacer.take_forgotten());
    CHECK(pacer.credit(kStart + milliseconds{9}) == 50'000);
    CHECK(pacer.take_forgotten());
    CHECK_FALSE(pacer.take_forgotten());
    pacer.set_burst_factor(kStart + milliseconds{9}, 4);
    CHECK(pacer.credit(kStart + milliseconds{40}) == 200'000);
    pacer.set_burst_factor(kStart + milliseconds{40}, 1);
    CHECK(pacer.credit(kStart + milliseconds{40}) == 50'000);
    pacer.set_burst_factor(kStart + milliseconds{40}, 1000);
    CHECK(pacer.burst_factor() == 16);
}

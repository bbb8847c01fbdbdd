// Tests when a receiver gives the source up.
#include "transport/core/receiver/source_watch.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("while members are wired up, the source may be busy with others") {
    const CoreConfig config = config_of(1, 4);
    SourceWatch watch{config};
    watch.on_heard(kStart);
    CHECK(watch.deadline(Phase::wiring) == kStart + config.ready_timeout);
    CHECK_FALSE(watch.poll(kStart + config.ready_timeout - milliseconds{1}, Phase::wiring));
    const auto why = watch.poll(kStart + config.ready_timeout, Phase::wiring);
    REQUIRE(why);
    CHECK(why->blame() == Blame::node);
    CHECK(why->sentence().find("DataPortRange") != std::string::npos);
}

TEST_CASE("once all listen, a silent source has the shorter of both times") {
    CoreConfig config = config_of(1, 4);
    config.ready_timeout = seconds{60};
    SourceWatch watch{config};
    watch.on_heard(kStart);
    watch.on_all_listen(kStart + seconds{3});
    CHECK(watch.deadline(Phase::wiring) == kStart + seconds{3} + config.stall_timeout);
}

TEST_CASE("each phase has its time-out, and after the end there is none") {
    const CoreConfig config = config_of(1, 4);
    SourceWatch watch{config};
    watch.on_heard(kStart);
    CHECK(watch.deadline(Phase::moving) == kStart + config.stall_timeout);
    CHECK(watch.deadline(Phase::holding) == kStart + config.linger);
    CHECK_FALSE(watch.deadline(Phase::released));
    CHECK_FALSE(watch.deadline(Phase::failed));
    const auto why = watch.poll(kStart + config.stall_timeout, Phase::moving);
    REQUIRE(why);
    CHECK(why->sentence().find("fell silent") != std::string::npos);
}

#include "transport/core/membership/group_probe.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

CoreConfig probing(UnreachedPolicy policy = UnreachedPolicy::relay) {
    CoreConfig config = config_of(0, 4);
    config.unreached_policy = policy;
    return config;
}

/// The members that answered, the source included.
RankSet ready_of(std::initializer_list<unsigned> ranks) {
    RankSet ready{4};
    for (const unsigned each : ranks) {
        ready.add(rank(each));
    }
    return ready;
}

/// A member solicits as one that hears nothing does.
void call_in_vain(GroupProbe& probe, unsigned from) {
    for (const int ms : {0, 5, 15, 35}) {
        probe.on_offer(kStart + milliseconds{ms});
        probe.on_call(kStart + milliseconds{ms}, rank(from));
    }
}

}  // namespace

TEST_CASE("a member that still solicits after several OFFERs does not hear the group") {
    GroupProbe probe{probing(), {}};
    call_in_vain(probe, 2);
    CHECK(probe.unreached() == std::vector{rank(2)});
    CHECK(probe.is_complete(ready_of({0, 1, 3})));
}

TEST_CASE("nothing is decided while a member may still be busy") {
    GroupProbe probe{probing(), {}};
    call_in_vain(probe, 2);
    CHECK_FALSE(probe.is_complete(ready_of({0, 1})));
    call_in_vain(probe, 3);
    CHECK(probe.unreached() == std::vector{rank(2), rank(3)});
    CHECK(probe.is_complete(ready_of({0, 1})));
}

TEST_CASE("if such members fail, a network that forwards the group late has time") {
    GroupProbe probe{probing(UnreachedPolicy::fail), {}};
    call_in_vain(probe, 2);
    CHECK(probe.unreached().empty());
    probe.on_call(kStart + seconds{1}, rank(2));
    CHECK(probe.unreached() == std::vector{rank(2)});
}

TEST_CASE("few OFFERs, or a short time, prove nothing") {
    GroupProbe probe{probing(), {}};
    probe.on_call(kStart, rank(1));
    probe.on_offer(kStart + milliseconds{1});
    probe.on_offer(kStart + milliseconds{2});
    probe.on_call(kStart + seconds{1}, rank(1));
    CHECK(probe.unreached().empty());
    probe.on_offer(kStart + seconds{1});
    probe.on_call(kStart + seconds{2}, rank(1));
    CHECK(probe.unreached().size() == 1);
    probe.on_call(kStart + seconds{3}, rank(2));
    for (int i = 0; i < 9; ++i) {
        probe.on_offer(kStart + seconds{3} + milliseconds{i + 1});
        probe.on_call(kStart + seconds{3} + milliseconds{29}, rank(2));
    }
    CHECK(probe.unreached().size() == 1);
}

TEST_CASE("a source that was late reads solicitations that are older than its OFFERs") {
    GroupProbe probe{probing(), {}};
    for (int ms = 0; ms < 200; ms += 5) {
        probe.on_offer(kStart + milliseconds{200} + microseconds{ms});
        probe.on_call(kStart + milliseconds{ms}, rank(1));
    }
    CHECK(probe.unreached().empty());
    probe.on_call(kStart + milliseconds{201}, rank(1));
    CHECK(probe.unreached() == std::vector{rank(1)});
}

TEST_CASE("a member that answers an OFFER of the group hears it after all") {
    GroupProbe probe{probing(), {}};
    call_in_vain(probe, 1);
    probe.on_heard(rank(1));
    CHECK(probe.unreached().empty());
    CHECK_FALSE(probe.is_complete(ready_of({0, 1, 2, 3})));
}

TEST_CASE("a member that says so itself counts, even if it answered an OFFER by unicast") {
    GroupProbe probe{probing(), {}};
    probe.on_unreachable(rank(3));
    probe.on_unreachable(rank(3));
    probe.on_unreachable(rank(9));  // No member.
    CHECK(probe.unreached() == std::vector{rank(3)});
    CHECK(probe.is_complete(ready_of({0, 1, 2, 3})));
}

TEST_CASE("a source that has no other way, or may still send smaller packets, does not look") {
    CoreConfig config = probing(UnreachedPolicy::fetch);
    SECTION("no other way") {
    }
    SECTION("smaller packets") {
        config = probing();
        config.chunk_bytes_fallback = 500;
    }
    GroupProbe probe{config, {}};
    call_in_vain(probe, 2);
    probe.on_unreachable(rank(1));
    CHECK(probe.unreached().empty());
}

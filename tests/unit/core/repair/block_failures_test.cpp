// Tests what a failed request changes for the next ones of its block.
#include "transport/core/repair/block_failures.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

using Kind = BlockFailures::Kind;

const BlockFailures kFailures{RepairLimits{}};

void fail(OpenBlock& open, Kind kind, unsigned times, unsigned copies = 1) {
    for (unsigned i = 0; i < times; ++i) {
        kFailures.on_failure({.now = kStart,
                              .peer = rank(i),
                              .kind = kind,
                              .copies = copies,
                              .round_trip = milliseconds{1}},
                             open);
    }
}

}  // namespace

TEST_CASE("only refusals in a row count towards the source, and only time-outs double") {
    OpenBlock open;
    fail(open, Kind::refusal, 2);
    CHECK(open.refusals == 2);
    fail(open, Kind::timeout, 3);
    CHECK(open.failures == 5);
    CHECK(open.refusals == 2);
    CHECK(kFailures.doublings(open, 1) == 1);
    fail(open, Kind::busy, 1);
    CHECK(open.failures == 5);
    CHECK(kFailures.doublings(open, 1) == 0);
}

TEST_CASE("the last peers without the chunks are remembered") {
    OpenBlock open;
    fail(open, Kind::refusal, 5);
    CHECK(open.lacking_count == 5);
    CHECK(open.lacking[0] == rank(4));
    CHECK(open.lacking[1] == rank(1));
}

TEST_CASE("a block pauses after several rounds of failures, longer each time") {
    for (const Kind kind : {Kind::refusal, Kind::timeout, Kind::busy}) {
        OpenBlock open;
        fail(open, kind, 4);
        CHECK(open.ask_after == kLongAgo);
        fail(open, kind, 1);
        CHECK(open.ask_after == kStart + milliseconds{2});
        fail(open, kind, 1);
        CHECK(open.ask_after == kStart + milliseconds{4});
        fail(open, kind, 250);
        CHECK(open.ask_after == kStart + RepairLimits{}.pause_max);
    }
}

TEST_CASE("failed copies of one request are one round") {
    OpenBlock open;
    fail(open, Kind::timeout, 14, 3);
    CHECK(open.ask_after == kLongAgo);
    CHECK(kFailures.doublings(open, 3) == 2);
    fail(open, Kind::timeout, 1, 3);
    CHECK(open.ask_after > kStart);
}

TEST_CASE("a chunk from the requested peer ends all counts") {
    OpenBlock open;
    fail(open, Kind::refusal, 3);
    fail(open, Kind::timeout, 3);
    fail(open, Kind::busy, 3);
    BlockFailures::on_given(open);
    CHECK(open.failures + open.silences + open.refusals + open.busy + open.lacking_count == 0);
}

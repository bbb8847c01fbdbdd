#include "tests/unit/core/parts.h"
#include "transport/base/prng.h"
#include "transport/core/base/descriptor_table.h"
#include "transport/core/repair/descriptor_pull.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("the first descriptor of a block counts, until it is forgotten") {
    DescriptorTable table{10, 10};
    CHECK(table.learn(block(2), raw_block(5, 1)));
    CHECK_FALSE(table.learn(block(2), raw_block(5, 2)));
    CHECK(table.at(block(2)) == raw_block(5, 1));
    CHECK_FALSE(table.learn(block(10), raw_block(5)));
    table.forget(block(2));
    CHECK_FALSE(table.knows(block(2)));
    CHECK(table.learn(block(2), raw_block(5, 2)));
}

TEST_CASE("the first unknown one is found again after something was forgotten") {
    DescriptorTable table{4, 9};
    for (unsigned i = 0; i < 4; ++i) {
        CHECK(table.first_unknown() == i);
        table.learn(block(i), raw_block(1));
    }
    CHECK(table.first_unknown() == 4);
    table.forget(block(1));
    CHECK(table.first_unknown() == 1);
    CHECK(table.first_unknown(2, 4) == 4);
}

TEST_CASE("later descriptors take the places of blocks that are held, and only of these") {
    DescriptorTable table{1000, 100};
    CHECK(table.horizon() == 60);  // an answer has 40
    for (unsigned i = 0; i < 100; ++i) {
        CHECK(table.learn(block(i), raw_block(i + 1)));
    }
    CHECK_FALSE(table.learn(block(100), raw_block(1)));
    table.advance(30);
    CHECK(table.horizon() == 90);
    CHECK(table.knows(block(0)));
    CHECK(table.learn(block(100), raw_block(101)));
    CHECK_FALSE(table.knows(block(0)));
    CHECK(table.at(block(100)) == raw_block(101));
    CHECK(table.at(block(1)) == raw_block(2));
    CHECK_FALSE(table.learn(block(0), raw_block(1)));
    CHECK(table.learn(block(129), raw_block(130)));
    CHECK_FALSE(table.learn(block(130), raw_block(131)));
    CHECK(table.first_unknown() == 101);
    table.advance(950);
    CHECK(table.first_unknown() == 950);
    CHECK(table.horizon() == 1000);  // there is no more to ask for
    CHECK(table.learn(block(999), raw_block(1)));
    CHECK_FALSE(table.learn(block(1000), raw_block(1)));
}

TEST_CASE("a DESCRIBE has what is known up to the first gap, as much as fits") {
    DescriptorTable table{100, 100};
    for (unsigned i = 0; i < 100; ++i) {
        if (i != 60) {
            table.learn(block(i), raw_block(i + 1));
        }
    }
    CHECK(wire::read_describe(table.describe(block(0), 100))->descriptors.size() ==
          wire::kMaxDescriptors);
    CHECK(wire::read_describe(table.describe(block(58), 100))->descriptors.size() == 2);
    CHECK(wire::read_describe(table.describe(block(99), 100))->descriptors.size() == 1);
    CHECK(table.describe(block(60), 1).empty());
    CHECK(table.describe(block(100), 1).empty());
}

namespace {

/// A member without descriptors of an object of 200 blocks.
struct Requester {
    Requester(unsigned members, unsigned room)
        : puller{config_of(1, members), {}, prng}, table{200, room} {}

    Prng prng{1};
    Puller puller;
    DescriptorTable table;
    DescriptorPull pull{RepairLimits{}};
    ControlQueue out{10};
};

}  // namespace

TEST_CASE("missing descriptors are asked of one peer after the other, at last of the source") {
    Requester one{4, 200};
    auto& [prng, puller, table, pull, out] = one;
    pull.poll(kStart, table, 0, puller, out);
    CHECK(out.is_empty());
    CHECK_FALSE(pull.deadline());

    pull.poll(kStart, table, 100, puller, out);
    const auto first = drained(out);
    REQUIRE(first.size() == 1);
    CHECK(first[0].type == wire::PacketType::request);
    const auto body = wire::read_request(first[0].body);
    REQUIRE(body);
    // One run for as many as an answer holds.
    CHECK(body->runs == std::vector<wire::ChunkRun>{
                            {.block = block(0)}, {.block = block(40)}, {.block = block(80)}});
    pull.poll(kStart, table, 100, puller, out);
    CHECK(out.is_empty());

    Instant now = kStart;
    Rank last{};
    for (int i = 0; i < 6; ++i) {
        REQUIRE(pull.deadline());
        now = *pull.deadline();
        pull.poll(now, table, 100, puller, out);
        for (const Send& send : drained(out)) {
            last = send.to.peer;
        }
    }
    CHECK(last == rank(0));
}

TEST_CASE("a peer that had descriptors is asked for the next ones, until it has none") {
    Requester one{40, 200};
    auto& [prng, puller, table, pull, out] = one;
    Instant now = kStart;
    pull.poll(now, table, 100, puller, out);
    const Rank helper = drained(out).at(0).to.peer;
    for (unsigned i = 0; i < 3; ++i) {
        pull.on_describe(helper, false);
        table.learn(block(i), raw_block(1));
        pull.poll(now, table, 100, puller, out);
        const auto next = drained(out);
        REQUIRE(next.size() == 1);
        CHECK(next[0].to.peer == helper);
        if (i == 2) {
            pull.on_lacking(helper, wire::read_request(next[0].body)->id);
        }
    }
    now += seconds{1};
    pull.poll(now, table, 100, puller, out);
    CHECK(drained(out).at(0).to.peer != helper);
}

TEST_CASE("a peer whose descriptors arrive after its time-out is asked for the next ones") {
    Requester one{40, 200};
    auto& [prng, puller, table, pull, out] = one;
    pull.poll(kStart, table, 100, puller, out);
    const Rank slow = drained(out).at(0).to.peer;
    REQUIRE(pull.deadline());
    Instant now = *pull.deadline();
    pull.poll(now, table, 100, puller, out);
    while (out.is_empty()) {
        now = *pull.deadline();
        pull.poll(now, table, 100, puller, out);
    }
    const Send asked = drained(out).at(0);
    const Rank other = asked.to.peer;
    REQUIRE(other != slow);

    // The other one has none, and a packet to the group is no answer.
    pull.on_lacking(other, wire::read_request(asked.body)->id);
    pull.on_describe(slow, true);
    pull.poll(now, table, 100, puller, out);
    CHECK(out.is_empty());

    pull.on_describe(slow, false);
    table.learn(block(0), raw_block(1));
    pull.poll(now, table, 100, puller, out);
    auto next = drained(out);
    REQUIRE(next.size() == 1);
    CHECK(next[0].to.peer == slow);
    // What another one sends after that answers no request.
    pull.on_describe(other, false);
    pull.poll(now, table, 100, puller, out);
    CHECK(out.is_empty());
}

TEST_CASE("what lies beyond the horizon is not asked for yet") {
    Requester one{4, 20};
    auto& [prng, puller, table, pull, out] = one;
    pull.poll(kStart, table, 150, puller, out);
    CHECK(drained(out).size() == 1);
    for (unsigned i = 0; i < 20; ++i) {
        table.learn(block(i), raw_block(1));
    }
    for (unsigned peer = 0; peer < 4; ++peer) {
        pull.on_describe(rank(peer), false);
    }
    pull.poll(kStart, table, 150, puller, out);
    CHECK(out.is_empty());
    CHECK_FALSE(pull.deadline());
    table.advance(11);
    pull.poll(kStart, table, 150, puller, out);
    const auto sends = drained(out);
    REQUIRE(sends.size() == 1);
    CHECK(wire::read_request(sends[0].body)->runs.front().block == block(20));
}

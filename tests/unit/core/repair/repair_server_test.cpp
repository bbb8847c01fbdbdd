#include "transport/core/repair/repair_server.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

/// A holder: some chunks are in memory, some blocks on disk.
class FakeHoldings final : public Holdings {
  public:
    [[nodiscard]] bool has(BlockIndex wanted, std::uint32_t chunk) const override {
        const auto found = memory.find(wanted);
        return found != memory.end() && found->second.contains(chunk);
    }
    [[nodiscard]] bool is_absent(BlockIndex /*wanted*/) const override { return false; }
    [[nodiscard]] bool can_load(BlockIndex wanted) const override {
        return disk.contains(wanted);
    }
    [[nodiscard]] std::uint32_t chunks(BlockIndex wanted) const override {
        return memory.contains(wanted) || disk.contains(wanted) ? 100 : 0;
    }
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex wanted,
                                                  std::uint32_t) const override {
        return chunks(wanted) == 0 || forgotten.contains(wanted)
                   ? std::vector<std::byte>{}
                   : wire::write(
                         wire::Describe{.first = wanted, .descriptors = {raw_block(100'000)}});
    }

    [[nodiscard]] bool is_described_by_load(BlockIndex wanted) const override {
        return forgotten.contains(wanted);
    }

    std::map<BlockIndex, std::set<std::uint32_t>> memory;
    std::set<BlockIndex> disk;
    std::set<BlockIndex> forgotten;  ///< Descriptors that reading the block provides again.
};

struct World {
    World() {
        for (std::uint32_t chunk = 0; chunk < 100; ++chunk) {
            holdings.memory[block(0)].insert(chunk);
        }
        REQUIRE(pool.admit(block(0), operations));
        pool.settle(block(0));
    }

    void request(unsigned from, std::vector<wire::ChunkRun> runs, Instant now = kStart) {
        server.on_request(now, rank(from), {.id = 7, .runs = std::move(runs)}, out);
    }
    std::vector<Send> sent(Instant now = kStart) {
        SendBatch batch;
        batch.packets_max = 1000;
        server.fill(now, batch, pacer, numbers);
        return batch.sends;
    }

    Limits limits;
    FakeHoldings holdings;
    BufferPool pool{4};
    RepairServer server{limits, 1000, holdings, pool};
    ControlQueue out{1000};
    OperationQueue operations;
    std::uint64_t ticket = 1;
    Pacer pacer{
        PacerLimits{.burst_bytes_max = 1U << 20U, .burst_time = seconds{1}}, 1U << 30U, 1070};
    Numbering numbers;
};

wire::ChunkRun run(unsigned in_block, unsigned first, unsigned count) {
    return {.block = block(in_block),
            .first = static_cast<std::uint16_t>(first),
            .count = static_cast<std::uint16_t>(count)};
}

}  // namespace

TEST_CASE("what is in memory is sent to the requester, in trains, as a repeat") {
    World world;
    world.request(3, {run(0, 5, 3), run(0, 20, 1)});
    CHECK(world.out.is_empty());
    CHECK(world.server.is_waiting());
    const auto sends = world.sent();
    REQUIRE(sends.size() == 2);
    CHECK(sends[0].to == Destination{.to_group = false, .peer = rank(3)});
    CHECK(sends[0].first == ChunkIndex{5});
    CHECK(sends[0].count == 3);
    CHECK(sends[0].flags == wire::kFlagRepeat);
    CHECK(sends[1].packet_number == 4);
    CHECK_FALSE(world.server.is_waiting());
}

TEST_CASE("what is lacking is said at once, chunk by chunk") {
    World world;
    world.holdings.memory[block(0)].erase(6);
    world.request(3, {run(0, 5, 3), run(1, 0, 2), run(2, 0, 0)});
    const auto answers = drained(world.out);
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].type == wire::PacketType::lacking);
    const auto body = wire::read_request(answers[0].body);
    CHECK(body->id == 7);
    CHECK(body->runs == std::vector<wire::ChunkRun>{run(0, 6, 1), run(1, 0, 2), run(2, 0, 0)});
    CHECK(world.sent().size() == 2);
}

TEST_CASE("a descriptor that is forgotten is sent once its block was read again") {
    World world;
    world.holdings.disk = {block(5)};
    world.holdings.forgotten = {block(5)};
    world.request(3, {run(5, 0, 0)});
    CHECK(world.out.is_empty());
    world.server.order_loads(world.operations, world.ticket);
    REQUIRE(taken(world.operations).size() == 1);
    world.holdings.disk.clear();
    world.holdings.forgotten.clear();
    world.holdings.memory[block(5)] = {0, 1};
    world.pool.settle(block(5));
    world.server.on_loaded(block(5), true, world.out);
    const auto sends = world.sent();
    REQUIRE(sends.size() == 2);
    CHECK(sends[0].type == wire::PacketType::describe);
    CHECK(sends[0].to == Destination{.to_group = false, .peer = rank(3)});
    CHECK(wire::read_describe(sends[0].body)->first == block(5));
    CHECK(sends[1].block == block(5));
    CHECK(sends[1].count == 1);
    CHECK(world.sent().empty());
}

TEST_CASE("a run beyond its block, or of no block, is lacking") {
    World world;
    world.request(3, {run(0, 100, 5), run(77, 0, 1)});
    CHECK(wire::read_request(drained(world.out).at(0).body)->runs.size() == 2);
    CHECK_FALSE(world.server.is_waiting());
}

TEST_CASE("a descriptor is answered by DESCRIBE") {
    World world;
    world.request(3, {run(0, 0, 0)});
    const auto answers = drained(world.out);
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].type == wire::PacketType::describe);
    CHECK(answers[0].to.peer == rank(3));
}

TEST_CASE("what is on disk is loaded first, a few at a time") {
    World world;
    world.limits.repair.loads_max = 2;
    RepairServer server{world.limits, 1000, world.holdings, world.pool};
    for (unsigned each = 1; each < 4; ++each) {
        world.holdings.disk.insert(block(each));
        server.on_request(kStart, rank(2), {.id = each, .runs = {run(each, 0, 1)}}, world.out);
    }
    CHECK(server.wants_loads());
    server.order_loads(world.operations, world.ticket);
    auto loads = taken(world.operations);
    REQUIRE(loads.size() == 2);
    CHECK(loads[0].kind == OperationKind::load);
    CHECK_FALSE(server.wants_loads());

    SECTION("a good one is answered") {
        world.holdings.memory[block(1)] = {0};
        world.pool.settle(block(1));
        server.on_loaded(block(1), true, world.out);
        CHECK(world.out.is_empty());
        SendBatch batch;
        server.fill(kStart, batch, world.pacer, world.numbers);
        REQUIRE(batch.sends.size() == 1);
        CHECK(batch.sends[0].block == block(1));
        server.order_loads(world.operations, world.ticket);
        CHECK(taken(world.operations).size() == 1);
    }
    SECTION("a bad one is lacking") {
        world.pool.release(block(1), world.operations);
        server.on_loaded(block(1), false, world.out);
        const auto answers = drained(world.out);
        REQUIRE(answers.size() == 1);
        CHECK(wire::read_request(answers[0].body)->id == 1);
    }
}

TEST_CASE("an answer that waits keeps its block in memory") {
    World world;
    world.request(3, {run(0, 0, 1)});
    for (unsigned each = 1; each < 4; ++each) {
        REQUIRE(world.pool.admit(block(each), world.operations));
    }
    CHECK_FALSE(world.pool.has_room());
    CHECK(world.sent().size() == 1);
    CHECK(world.pool.has_room());
}

TEST_CASE("the number of jobs is limited; later requesters are sent elsewhere") {
    World world;
    for (unsigned from = 0; from < world.limits.repair.jobs_max; ++from) {
        world.request(from + 1, {run(0, 0, 1)});
    }
    CHECK(world.out.is_empty());
    world.request(200, {run(0, 0, 1), run(3, 0, 1)});
    const auto answers = drained(world.out);
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].type == wire::PacketType::lacking);
    CHECK(answers[0].flags == 0);
    CHECK(wire::read_request(answers[0].body)->runs == std::vector{run(3, 0, 1)});
    CHECK(answers[1].type == wire::PacketType::lacking);
    CHECK(answers[1].flags == wire::kFlagBusy);
    CHECK(wire::read_request(answers[1].body)->runs == std::vector{run(0, 0, 1)});
    world.request(1, {run(0, 1, 1)});  // joins its own job
    CHECK(world.out.is_empty());
}

TEST_CASE("an old job is given up, and its requester gets LACKING") {
    World world;
    world.holdings.disk.insert(block(1));
    world.request(3, {run(1, 0, 1)});
    REQUIRE(world.server.deadline());
    world.server.expire(*world.server.deadline(), world.out);
    const auto answers = drained(world.out);
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].type == wire::PacketType::lacking);
    CHECK(answers[0].flags == wire::kFlagBusy);
    CHECK_FALSE(world.server.deadline());
}

TEST_CASE("however many chunks of a request are absent, LACKING fits its packet") {
    World world;
    for (std::uint32_t chunk = 0; chunk < 100; chunk += 2) {
        world.holdings.memory[block(0)].erase(chunk);
    }
    std::vector<wire::ChunkRun> runs;
    for (unsigned each = 0; each < wire::kMaxRuns / 2; ++each) {
        runs.push_back(run(9, each, 1));
    }
    runs.push_back(run(0, 0, 100));
    while (runs.size() < wire::kMaxRuns) {
        runs.push_back(run(9, 0, 1));
    }
    world.request(3, runs);
    const auto answers = drained(world.out);
    REQUIRE(answers.size() == 1);
    CHECK(wire::read_request(answers[0].body)->runs.size() == wire::kMaxRuns);
}

TEST_CASE("the pacer's credit bounds what leaves, the rest follows") {
    World world;
    Pacer slow{{}, 500'000, 1070};  // two packets
    world.request(3, {run(0, 0, 10)});
    SendBatch batch;
    world.server.fill(kStart, batch, slow, world.numbers);
    CHECK(batch.packets == 2);
    CHECK(world.server.is_waiting());
    for (int i = 1; batch.packets < 10; ++i) {
        REQUIRE(i < 20);
        world.server.fill(kStart + milliseconds{2 * i}, batch, slow, world.numbers);
    }
    CHECK_FALSE(world.server.is_waiting());
}

// A peer had sent 2^15 other packets since the member last heard of it, and the member could
// open none of its packets any more.
TEST_CASE("a peer that has not heard of us for long gets our whole number first") {
    World world;
    static_cast<void>(world.numbers.take(20'000));
    world.request(3, {run(0, 0, 1)});
    auto sends = world.sent();
    REQUIRE(sends.size() == 2);
    CHECK(sends[0].type == wire::PacketType::describe);
    CHECK(sends[0].packet_number == 20'001);
    // That may be lost, and then DATA alone would never be opened.
    for (const unsigned sends_now : {2U, 2U, 1U, 1U}) {
        world.request(3, {run(0, 1, 1)});
        CHECK(world.sent().size() == sends_now);
    }
    static_cast<void>(world.numbers.take(17'000));
    world.request(3, {run(0, 2, 1)});
    CHECK(world.sent().size() == 2);
}

TEST_CASE("a peer that was answered before there were many numbers gets none") {
    World world;
    world.request(3, {run(0, 0, 1)});
    CHECK(world.sent().size() == 1);
    static_cast<void>(world.numbers.take(16'380));
    world.request(3, {run(0, 1, 1)});
    CHECK(world.sent().size() == 1);
}

TEST_CASE("what all miss is sent to the group") {
    World world;
    CHECK(world.server.repeat(kStart, run(0, 3, 2)));
    const auto sends = world.sent();
    REQUIRE(sends.size() == 1);
    CHECK(sends[0].to.to_group);
    CHECK_FALSE(world.server.repeat(kStart, run(9, 0, 1)));
}

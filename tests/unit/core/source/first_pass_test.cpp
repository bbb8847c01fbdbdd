#include "transport/core/source/first_pass.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

#include <set>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

/// A source with blocks of 2500 bytes and an odd hole.
struct Pass {
    explicit Pass(std::uint32_t blocks)
        : descriptors{blocks, blocks},
          pass{config_of(0, 2), {.blocks = blocks, .object_bytes = 1}, {}, descriptors, pool} {}

    void load() {
        pass.order_loads(operations, ticket);
        for (const Operation& operation : taken(operations)) {
            if (operation.kind == OperationKind::load) {
                const bool hole = operation.block.value() % 5 == 4;
                descriptors.learn(operation.block, hole ? hole_block(9) : raw_block(2500));
                pass.on_loaded(operation.block);
            }
        }
    }
    std::vector<Send> fill(std::uint32_t window_below = 1000, std::size_t packets_max = 1000) {
        SendBatch batch;
        batch.packets_max = packets_max;
        pass.fill(kStart, window_below, batch, pacer, numbers);
        return batch.sends;
    }

    BufferPool pool{8};
    DescriptorTable descriptors;
    FirstPass pass;
    OperationQueue operations;
    std::uint64_t ticket = 1;
    Pacer pacer{
        PacerLimits{.burst_bytes_max = 1U << 30U, .burst_time = seconds{1}}, 1U << 30U, 1070};
    Numbering numbers;
};

}  // namespace

TEST_CASE("the first pass sends every chunk once, in order, each block after its descriptor") {
    Pass world{23};
    std::set<std::pair<std::uint32_t, std::uint32_t>> sent;
    std::uint32_t described_below = 0;
    std::uint64_t number = 0;
    for (int i = 0; i < 1000 && !world.pass.is_over(); ++i) {
        world.load();
        for (const Send& send : world.fill(1000, 1 + static_cast<std::size_t>(i) % 4)) {
            CHECK(send.packet_number == number + 1);
            number += send.count;
            CHECK(send.to.to_group);
            if (send.type == wire::PacketType::describe) {
                const auto body = wire::read_describe(send.body);
                REQUIRE(body);
                described_below =
                    body->first.value() + static_cast<std::uint32_t>(body->descriptors.size());
                continue;
            }
            CHECK(send.block.value() < described_below);
            for (std::uint32_t chunk = 0; chunk < send.count; ++chunk) {
                CHECK(sent.emplace(send.block.value(), send.first.value() + chunk).second);
            }
        }
    }
    CHECK(world.pass.is_over());
    CHECK(world.pass.has_loaded_all());
    CHECK(sent.size() == 57);  // 19 blocks of 3 chunks, 4 holes
}

TEST_CASE(
    "a pass that no member needs reads all blocks and sends none, or does not even read") {
    Pass reading{20};
    reading.load();
    reading.pass.withhold(0);
    for (int i = 0; i < 100 && !reading.pass.is_over(); ++i) {
        reading.load();
        CHECK(reading.fill().empty());
    }
    CHECK(reading.pass.is_over());
    CHECK(reading.pass.has_loaded_all());
    Pass idle{20};
    idle.pass.withhold(20);
    CHECK(idle.pass.is_over());
    CHECK(idle.pass.has_loaded_all());
    CHECK_FALSE(idle.pass.wants_loads());
    idle.load();
    CHECK(idle.fill().empty());
}

TEST_CASE(
    "a pass begins at the first block that a member lacks, and reads no more than it must") {
    Pass late{20};
    late.load();  // Read ahead, before any member answered.
    late.pass.skip(15, 12);
    for (int i = 0; i < 100 && !late.pass.has_loaded_all(); ++i) {
        late.load();
        CHECK(late.pass.cursor().block >= 12);
        for (const Send& send : late.fill()) {
            CHECK((send.type != wire::PacketType::data || send.block.value() >= 15));
        }
    }
    CHECK(late.pass.has_loaded_all());
}

TEST_CASE("the first pass stops at the window and at what isn't read yet") {
    Pass world{20};
    CHECK(world.fill().empty());
    world.load();
    CHECK(world.pass.wants_loads() == false);
    static_cast<void>(world.fill(2));
    CHECK(world.pass.cursor() == Position{.block = 2, .chunk = 0});
    CHECK(world.pass.is_waiting());
    static_cast<void>(world.fill());
    CHECK(world.pass.cursor() == Position{.block = 4, .chunk = 0});
    CHECK_FALSE(world.pass.is_waiting());
    CHECK(world.pass.wants_loads());
}

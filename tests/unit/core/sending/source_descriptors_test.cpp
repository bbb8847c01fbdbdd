#include "transport/core/sending/source_descriptors.h"

#include "tests/unit/core/heap_bytes.h"
#include "tests/unit/core/parts.h"
#include "transport/core/base/limits.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

/// Each block is different.
wire::Descriptor as_read(unsigned number) {
    return raw_block(kBlockBytes - number, number);
}

struct World {
    World(std::uint32_t blocks, std::uint32_t room) : descriptors{blocks, room, pool} {
        for (std::uint32_t number = 0; number < blocks; ++number) {
            REQUIRE(descriptors.on_read(block(number), as_read(number)));
        }
    }

    BufferPool pool{2};
    OperationQueue operations;
    SourceDescriptors descriptors;
};

}  // namespace

TEST_CASE("a source keeps all descriptors of an object that has no more than it has room for") {
    World world{20, 20};
    for (unsigned number = 0; number < 20; ++number) {
        CHECK(*world.descriptors.find(block(number)) == as_read(number));
    }
    CHECK(world.descriptors.describe(block(0), 20) ==
          world.descriptors.recent().describe(block(0), 20));
    CHECK_FALSE(world.descriptors.on_read(block(3), as_read(4)));
    CHECK_FALSE(world.descriptors.was_read(block(20)));
}

TEST_CASE("of a larger object it keeps those read last, and notices what changed") {
    World world{20, 6};
    for (unsigned number = 0; number < 20; ++number) {
        CHECK(world.descriptors.was_read(block(number)));
        CHECK((world.descriptors.find(block(number)) != nullptr) == (number >= 14));
    }
    CHECK(world.descriptors.describe(block(3), 1).empty());
    CHECK(world.descriptors.on_read(block(3), as_read(3)));
    wire::Descriptor changed = as_read(3);
    changed.leaf[7] ^= std::byte{1};
    CHECK_FALSE(world.descriptors.on_read(block(3), changed));
    changed = as_read(3);
    changed.encoding = wire::Encoding::zstd;
    CHECK_FALSE(world.descriptors.on_read(block(3), changed));
    changed = as_read(3);
    --changed.wire_length;
    CHECK_FALSE(world.descriptors.on_read(block(3), changed));
    CHECK_FALSE(world.descriptors.was_read(block(20)));
}

TEST_CASE("the descriptor of an older block is known while the block is in memory") {
    World world{20, 6};
    REQUIRE(world.pool.admit(block(3), world.operations));
    CHECK(world.descriptors.on_read(block(3), as_read(3)));
    REQUIRE(world.descriptors.find(block(3)) != nullptr);
    CHECK(*world.descriptors.find(block(3)) == as_read(3));
    const auto body = wire::read_describe(world.descriptors.describe(block(3), 40));
    REQUIRE(body);
    CHECK(body->first == block(3));
    CHECK(body->descriptors == std::vector{as_read(3)});
    world.pool.release(block(3), world.operations);
    CHECK(world.descriptors.find(block(3)) == nullptr);
}

TEST_CASE("a block that stays in memory keeps its descriptor, however many are read after it") {
    BufferPool pool{2};
    OperationQueue operations;
    SourceDescriptors descriptors{20, 6, pool};
    REQUIRE(pool.admit(block(1), operations));
    for (unsigned number = 0; number < 20; ++number) {
        REQUIRE(descriptors.on_read(block(number), as_read(number)));
    }
    CHECK(descriptors.find(block(0)) == nullptr);
    REQUIRE(descriptors.find(block(1)) != nullptr);
    CHECK(*descriptors.find(block(1)) == as_read(1));
}

TEST_CASE("of an object of 2 TiB a source remembers 17 MiB") {
    constexpr std::uint32_t kBlocks = 1U << 21U;
    const BufferPool pool{24};
    const std::size_t before = heap_bytes();
    SourceDescriptors descriptors{kBlocks, Limits{}.source_descriptors_max, pool};
    for (std::uint32_t number = 0; number < kBlocks; ++number) {
        REQUIRE(descriptors.on_read(block(number), raw_block(kBlockBytes, number % 251)));
    }
    CHECK_FALSE(descriptors.on_read(block(0), raw_block(kBlockBytes, 1)));
    const std::size_t taken = heap_bytes() - before;
    CAPTURE(taken);
    CHECK((!kIsCounted || taken <= (17U << 20U) + (64U << 10U)));
}

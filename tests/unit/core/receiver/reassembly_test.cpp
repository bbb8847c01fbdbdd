#include "transport/core/receiver/reassembly.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

Datagram chunk_of(unsigned in_block, unsigned chunk, unsigned bytes) {
    Datagram datagram;
    datagram.header.block = block(in_block);
    datagram.header.chunk = ChunkIndex{static_cast<std::uint16_t>(chunk)};
    datagram.body_bytes = static_cast<std::uint16_t>(bytes);
    datagram.lease = Ticket{in_block * 1000 + chunk + 1};
    return datagram;
}

/// Chunks are of 1000 bytes, blocks of 2500: two full chunks and a half.
struct Fixture {
    Fixture() { reassembly.begin({.blocks = 20, .object_bytes = 50'000}); }

    void describe(unsigned first, std::vector<wire::Descriptor> descriptors) {
        reassembly.on_describe({.first = block(first), .descriptors = std::move(descriptors)});
    }
    void fill(unsigned in_block) {
        static_cast<void>(reassembly.on_data(chunk_of(in_block, 0, 1000)));
        static_cast<void>(reassembly.on_data(chunk_of(in_block, 1, 1000)));
        static_cast<void>(reassembly.on_data(chunk_of(in_block, 2, 500)));
    }
    std::vector<OperationKind> kinds() {
        std::vector<OperationKind> found;
        for (const Operation& operation : taken(reassembly.operations())) {
            found.push_back(operation.kind);
        }
        return found;
    }
    Status complete(OperationKind kind, unsigned in_block, Verdict verdict = Verdict::good) {
        Completion done;
        done.kind = kind;
        done.block = block(in_block);
        done.verdict = verdict;
        done.why = Error{Blame::user, "No space left on device"};
        return reassembly.on_done(done);
    }

    Reassembly reassembly{config_of(1, 4), {}};
};

/// Two buffers in memory and three spare ones.
struct Spilling {
    static CoreConfig config() {
        CoreConfig config = config_of(1, 4);
        config.resident_blocks = 2;
        config.spill_blocks = 3;
        return config;
    }
    Spilling() { reassembly.begin({.blocks = 20, .object_bytes = 50'000}); }
    /// How many of blocks 0 .. 9 took a first chunk.
    int opened() {
        int opened = 0;
        for (unsigned i = 0; i < 10; ++i) {
            opened += reassembly.on_data(chunk_of(i, 0, 1000)) != nullptr ? 1 : 0;
        }
        return opened;
    }

    Reassembly reassembly{config(), {}};
};

using Kinds = std::vector<OperationKind>;
constexpr auto kPlace = OperationKind::place;
constexpr auto kDrop = OperationKind::drop;

}  // namespace

TEST_CASE("a block is placed, verified, stored and held") {
    Fixture fixture;
    fixture.describe(0, {raw_block(2500)});
    fixture.fill(0);
    CHECK(fixture.kinds() == Kinds{kPlace, kPlace, kPlace, OperationKind::verify});
    CHECK(fixture.complete(OperationKind::verify, 0));
    CHECK(fixture.kinds() == Kinds{OperationKind::store});
    CHECK_FALSE(fixture.reassembly.has(block(0), 3));
    CHECK(fixture.reassembly.has(block(0), 2));
    CHECK(fixture.complete(OperationKind::store, 0));
    CHECK(fixture.reassembly.map().is_held(block(0)));
    CHECK(fixture.reassembly.bytes_held() == 2500);
    CHECK(fixture.reassembly.has(block(0), 2));
    CHECK(fixture.reassembly.take_closed() == std::vector<BlockIndex>{block(0)});
}

TEST_CASE("each lease ends once: a chunk that was here before is dropped") {
    Fixture fixture;
    fixture.describe(0, {raw_block(2500)});
    CHECK(fixture.reassembly.on_data(chunk_of(0, 1, 1000)) != nullptr);
    CHECK(fixture.reassembly.on_data(chunk_of(0, 1, 1000)) == nullptr);
    CHECK(fixture.kinds() == Kinds{kPlace, kDrop});
}

TEST_CASE("a chunk that fits no block is dropped") {
    Fixture fixture;
    fixture.describe(0, {raw_block(2500)});
    const std::pair<unsigned, unsigned> wrong[] = {
        {3, 500}, {2, 1000}, {2, 499}, {0, 999}, {0, 0}};
    for (const auto& [chunk, bytes] : wrong) {
        CHECK(fixture.reassembly.on_data(chunk_of(0, chunk, bytes)) == nullptr);
    }
    CHECK(fixture.reassembly.on_data(chunk_of(20, 0, 1000)) == nullptr);
    // Of a block that nothing is known of: at least within the largest block.
    CHECK(fixture.reassembly.on_data(chunk_of(1, 1048, 577)) == nullptr);
    CHECK(fixture.reassembly.on_data(chunk_of(1, 1049, 1)) == nullptr);
    CHECK(fixture.reassembly.on_data(chunk_of(1, 1048, 576)) != nullptr);
}

TEST_CASE("chunks may come before their descriptor") {
    Fixture fixture;
    fixture.fill(0);
    CHECK(fixture.kinds() == Kinds{kPlace, kPlace, kPlace});
    fixture.describe(0, {raw_block(2500)});
    CHECK(fixture.kinds() == Kinds{OperationKind::verify});
}

TEST_CASE("chunks that the descriptor denies start the block again") {
    Fixture fixture;
    fixture.fill(0);
    static_cast<void>(fixture.kinds());
    fixture.describe(0, {raw_block(1500)});
    CHECK(fixture.kinds() == Kinds{OperationKind::release});
    CHECK(fixture.reassembly.map().find(block(0)) == nullptr);
}

TEST_CASE(
    "a bad digest starts the block again, and finally the source's descriptor is rejected") {
    Fixture fixture;
    for (int i = 0; i < 8; ++i) {
        fixture.describe(0, {raw_block(2500)});
        fixture.fill(0);
        static_cast<void>(fixture.kinds());
        const Status verified = fixture.complete(OperationKind::verify, 0, Verdict::bad_digest);
        CHECK(verified.ok() == (i < 7));
        CHECK(fixture.kinds() == Kinds{OperationKind::release});
        CHECK_FALSE(fixture.reassembly.descriptors().knows(block(0)));
    }
}

TEST_CASE("a store that must wait too long is fetched again, one that fails ends it") {
    Fixture fixture;
    fixture.describe(0, {raw_block(2500)});
    fixture.fill(0);
    CHECK(fixture.complete(OperationKind::verify, 0));
    CHECK(fixture.complete(OperationKind::store, 0, Verdict::bad_digest));
    CHECK(fixture.reassembly.map().find(block(0)) == nullptr);
    CHECK(fixture.reassembly.descriptors().knows(block(0)));
    fixture.fill(0);
    CHECK(fixture.complete(OperationKind::verify, 0));
    const Status failed = fixture.complete(OperationKind::store, 0, Verdict::failed);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().sentence() == "No space left on device");
}

TEST_CASE("a completion of what isn't under way changes nothing") {
    Fixture fixture;
    fixture.describe(0, {raw_block(2500)});
    CHECK(fixture.complete(OperationKind::verify, 0));
    fixture.fill(0);
    static_cast<void>(fixture.kinds());
    CHECK(fixture.complete(OperationKind::store, 0, Verdict::failed));
    CHECK(fixture.kinds().empty());
}

TEST_CASE("a hole needs no chunk") {
    Fixture fixture;
    fixture.describe(3, {hole_block(4096)});
    CHECK(fixture.kinds() == Kinds{OperationKind::store});
    CHECK(fixture.complete(OperationKind::store, 3));
    CHECK(fixture.reassembly.map().is_held(block(3)));
    CHECK(fixture.reassembly.chunks(block(3)) == 0);
}

TEST_CASE("what has no room is dropped, and opened when there is") {
    Fixture fixture;
    for (unsigned each = 0; each < 10; ++each) {
        fixture.describe(each, {raw_block(2500, each + 1)});
        const bool has_room = each < 8;
        CHECK((fixture.reassembly.on_data(chunk_of(each, 0, 1000)) != nullptr) == has_room);
    }
    static_cast<void>(fixture.kinds());
    CHECK_FALSE(fixture.reassembly.open_absent({.block = 10}, false));
    fixture.fill(0);
    CHECK(fixture.complete(OperationKind::verify, 0));
    CHECK(fixture.complete(OperationKind::store, 0));
    // Beside the first pass late blocks take half of the room only...
    CHECK_FALSE(fixture.reassembly.open_absent({.block = 10}, false));
    // ... afterwards all of it.
    CHECK(fixture.reassembly.open_absent({.block = 10}, true));
    CHECK(fixture.reassembly.map().find(block(8)) != nullptr);
    CHECK(fixture.reassembly.map().find(block(9)) == nullptr);
}

TEST_CASE("it is crowded where the last room is taken, and the disk will make some") {
    Fixture fixture;
    for (unsigned each = 0; each < 8; ++each) {
        fixture.describe(each, {raw_block(2500, each + 1)});
        CHECK(fixture.reassembly.on_data(chunk_of(each, 0, 1000)) != nullptr);
        CHECK_FALSE(
            fixture.reassembly.is_crowded());  // others' chunks are waited for, not room
    }
    fixture.fill(0);
    CHECK(fixture.reassembly.is_crowded());
    CHECK(fixture.complete(OperationKind::verify, 0));
    CHECK(fixture.reassembly.is_crowded());
    CHECK(fixture.complete(OperationKind::store, 0));
    CHECK_FALSE(fixture.reassembly.is_crowded());
}

// Every block may have to wait for the first one: named by a seed with two resident blocks.
TEST_CASE("the first missing block comes in even when late ones fill their half") {
    Fixture fixture;
    for (unsigned each = 0; each < 8; ++each) {
        fixture.describe(each, {raw_block(2500, each + 1)});
    }
    for (unsigned each = 1; each < 7; ++each) {
        fixture.fill(each);
    }
    CHECK(fixture.reassembly.open_absent({.block = 8}, false));
    CHECK(fixture.reassembly.map().find(block(0)) != nullptr);
    CHECK(fixture.reassembly.map().find(block(7)) == nullptr);
}

TEST_CASE("the disk is waited for when the first block that isn't held is with it") {
    Fixture fixture;
    fixture.describe(0, {raw_block(2500), raw_block(2500, 2)});
    CHECK_FALSE(fixture.reassembly.is_first_at_disk());
    fixture.fill(1);
    CHECK_FALSE(fixture.reassembly.is_first_at_disk());  // 1 may wait for 0
    static_cast<void>(fixture.reassembly.on_data(chunk_of(0, 0, 1000)));
    CHECK_FALSE(fixture.reassembly.is_first_at_disk());
    fixture.fill(0);
    CHECK(fixture.reassembly.is_first_at_disk());
}

TEST_CASE("blocks that lack chunks get spare buffers") {
    Spilling one;
    CHECK(one.opened() == 5);
    CHECK(one.opened() == 0);

    SECTION("and none once the driver has none left") {
        one.reassembly.end_sparing();
        CHECK(one.reassembly.on_data(chunk_of(4, 1, 1000)) != nullptr);
        CHECK(one.opened() == 0);
    }
}

TEST_CASE("no block gets a spare buffer if there were none from the start") {
    Spilling one;
    one.reassembly.end_sparing();
    CHECK(one.opened() == 2);
}

TEST_CASE("while the disk is late no block gets a spare buffer") {
    CoreConfig config = Spilling::config();
    config.resident_blocks = 5;
    Reassembly reassembly{config, {}};
    reassembly.begin({.blocks = 20, .object_bytes = 10'000});
    for (unsigned i = 0; i < 10; ++i) {
        reassembly.on_describe({.first = block(i), .descriptors = {raw_block(500)}});
    }
    for (unsigned i = 0; i < 5; ++i) {
        CHECK(reassembly.on_data(chunk_of(i, 0, 500)) != nullptr);
    }
    CHECK(reassembly.on_data(chunk_of(5, 0, 500)) == nullptr);
}

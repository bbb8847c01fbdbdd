#include "transport/core/sending/buffer_pool.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("a clean block gives way, the one that was useful least lately first") {
    BufferPool residence{3};
    OperationQueue operations;
    for (unsigned i = 0; i < 3; ++i) {
        REQUIRE(residence.admit(block(i), operations));
    }
    CHECK_FALSE(residence.has_room());
    CHECK_FALSE(residence.admit(block(3), operations));
    CHECK(operations.empty());
    residence.settle(block(0));
    residence.settle(block(1));
    residence.touch(block(0));
    CHECK(residence.has_room());
    REQUIRE(residence.admit(block(3), operations));
    REQUIRE(operations.size() == 1);
    CHECK(operations.front().kind == OperationKind::release);
    CHECK(operations.front().block == block(1));
    CHECK(residence.size() == 3);
}

TEST_CASE("a pinned block stays until the last pin is gone") {
    BufferPool residence{1};
    OperationQueue operations;
    REQUIRE(residence.admit(block(0), operations));
    residence.settle(block(0));
    residence.pin(block(0));
    residence.pin(block(0));
    CHECK_FALSE(residence.admit(block(1), operations));
    residence.unpin(block(0));
    CHECK_FALSE(residence.has_room());
    residence.unpin(block(0));
    CHECK(residence.admit(block(1), operations));
}

TEST_CASE("room is what is free, and what may go") {
    BufferPool residence{3};
    OperationQueue operations;
    REQUIRE(residence.admit(block(0), operations));
    REQUIRE(residence.admit(block(1), operations));
    CHECK(residence.room() == 1);
    residence.settle(block(0));
    residence.settle(block(0));
    CHECK(residence.room() == 2);
    residence.pin(block(0));
    residence.pin(block(0));
    CHECK(residence.room() == 1);
    residence.unpin(block(0));
    CHECK(residence.room() == 1);
    residence.unpin(block(0));
    residence.unpin(block(0));
    CHECK(residence.room() == 2);
    residence.release(block(0), operations);
    residence.release(block(1), operations);
    CHECK(residence.room() == 3);
}

TEST_CASE("a release is ordered once, for what is resident") {
    BufferPool residence{2};
    OperationQueue operations;
    REQUIRE(residence.admit(block(0), operations));
    residence.release(block(0), operations);
    residence.release(block(0), operations);
    CHECK(operations.size() == 1);
    CHECK_FALSE(residence.contains(block(0)));
}

// A look at all blocks for each one that is admitted took minutes here.
TEST_CASE("as many blocks as the protocol allows give way one after the other") {
    constexpr unsigned kBlocks = 65'536;
    BufferPool residence{kBlocks};
    OperationQueue operations;
    for (unsigned i = 0; i < 4 * kBlocks; ++i) {
        REQUIRE(residence.admit(block(i), operations));
        residence.settle(block(i));
        if (i >= kBlocks) {
            REQUIRE(operations.size() == 1);
            REQUIRE(operations.front().block == block(i - kBlocks));
            operations.clear();
        }
    }
    CHECK(residence.room() == kBlocks);
}

TEST_CASE("spare buffers are for blocks in use") {
    BufferPool residence{2, 3};
    OperationQueue operations;
    for (unsigned i = 0; i < 5; ++i) {
        REQUIRE(residence.admit(block(i), operations));
    }
    CHECK_FALSE(residence.admit(block(5), operations));
    CHECK(residence.room() == 0);
    residence.settle(block(3));
    residence.trim(operations);
    REQUIRE(operations.size() == 1);
    CHECK(operations.pop_front().block == block(3));
    CHECK_FALSE(residence.contains(block(3)));
    residence.end_sparing();
    CHECK_FALSE(residence.admit(block(5), operations));
    for (unsigned i = 0; i < 3; ++i) {
        residence.release(block(i), operations);
    }
    CHECK(residence.room() == 1);
    CHECK(residence.admit(block(5), operations));
}

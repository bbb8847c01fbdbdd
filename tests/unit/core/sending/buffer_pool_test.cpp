#include "transport/core/sending/buffer_pool.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("a clean block gives way, the one that was useful least lately first") {
    BufferPool pool{3};
    OperationQueue operations;
    for (unsigned i = 0; i < 3; ++i) {
        REQUIRE(pool.admit(block(i), operations));
    }
    CHECK_FALSE(pool.has_room());
    CHECK_FALSE(pool.admit(block(3), operations));
    CHECK(operations.empty());
    pool.settle(block(0));
    pool.settle(block(1));
    pool.touch(block(0));
    CHECK(pool.has_room());
    REQUIRE(pool.admit(block(3), operations));
    REQUIRE(operations.size() == 1);
    CHECK(operations.front().kind == OperationKind::release);
    CHECK(operations.front().block == block(1));
    CHECK(pool.size() == 3);
}

TEST_CASE("a pinned block stays until the last pin is gone") {
    BufferPool pool{1};
    OperationQueue operations;
    REQUIRE(pool.admit(block(0), operations));
    pool.settle(block(0));
    pool.pin(block(0));
    pool.pin(block(0));
    CHECK_FALSE(pool.admit(block(1), operations));
    pool.unpin(block(0));
    CHECK_FALSE(pool.has_room());
    pool.unpin(block(0));
    CHECK(pool.admit(block(1), operations));
}

TEST_CASE("room is what is free, and what may go") {
    BufferPool pool{3};
    OperationQueue operations;
    REQUIRE(pool.admit(block(0), operations));
    REQUIRE(pool.admit(block(1), operations));
    CHECK(pool.room() == 1);
    pool.settle(block(0));
    pool.settle(block(0));
    CHECK(pool.room() == 2);
    pool.pin(block(0));
    pool.pin(block(0));
    CHECK(pool.room() == 1);
    pool.unpin(block(0));
    CHECK(pool.room() == 1);
    pool.unpin(block(0));
    pool.unpin(block(0));
    CHECK(pool.room() == 2);
    pool.release(block(0), operations);
    pool.release(block(1), operations);
    CHECK(pool.room() == 3);
}

TEST_CASE("a release is ordered once, for what is resident") {
    BufferPool pool{2};
    OperationQueue operations;
    REQUIRE(pool.admit(block(0), operations));
    pool.release(block(0), operations);
    pool.release(block(0), operations);
    CHECK(operations.size() == 1);
    CHECK_FALSE(pool.contains(block(0)));
}

// A look at all blocks for each one that is admitted took minutes here.
TEST_CASE("as many blocks as the protocol allows give way one after the other") {
    constexpr unsigned kBlocks = 65'536;
    BufferPool pool{kBlocks};
    OperationQueue operations;
    for (unsigned i = 0; i < 4 * kBlocks; ++i) {
        REQUIRE(pool.admit(block(i), operations));
        pool.settle(block(i));
        if (i >= kBlocks) {
            REQUIRE(operations.size() == 1);
            REQUIRE(operations.front().block == block(i - kBlocks));
            operations.clear();
        }
    }
    CHECK(pool.room() == kBlocks);
}

TEST_CASE("spare buffers are for blocks in use") {
    BufferPool pool{2, 3};
    OperationQueue operations;
    for (unsigned i = 0; i < 5; ++i) {
        REQUIRE(pool.admit(block(i), operations));
    }
    CHECK_FALSE(pool.admit(block(5), operations));
    CHECK(pool.room() == 0);
    pool.settle(block(3));
    pool.trim(operations);
    REQUIRE(operations.size() == 1);
    CHECK(operations.pop_front().block == block(3));
    CHECK_FALSE(pool.contains(block(3)));
    pool.end_sparing();
    CHECK_FALSE(pool.admit(block(5), operations));
    for (unsigned i = 0; i < 3; ++i) {
        pool.release(block(i), operations);
    }
    CHECK(pool.room() == 1);
    CHECK(pool.admit(block(5), operations));
}

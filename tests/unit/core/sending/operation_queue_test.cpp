#include "transport/core/sending/operation_queue.h"

#include <catch2/catch.hpp>

namespace stage::core {
namespace {

Operation operation(std::uint32_t block) {
    Operation operation;
    operation.block = BlockIndex{block};
    return operation;
}

TEST_CASE("operations leave a queue in the order in which they came, however they mix") {
    OperationQueue queue;
    std::uint32_t pushed = 0;
    std::uint32_t popped = 0;
    // (Ever more wait, then ever fewer, and at last none: what was taken is let go of all
    // ways.)
    for (const std::uint32_t taken : {1U, 2U, 0U, 3U, 5U, 9U, 1U, 15U}) {
        for (int i = 0; i < 5; ++i) {
            queue.push_back(operation(pushed++));
        }
        for (std::uint32_t i = 0; i < taken; ++i) {
            REQUIRE_FALSE(queue.empty());
            CHECK(queue.front().block == BlockIndex{popped});
            CHECK(queue.pop_front().block == BlockIndex{popped});
            ++popped;
        }
        REQUIRE(queue.size() == pushed - popped);
        std::uint32_t next = popped;
        for (const Operation& waiting : queue) {
            CHECK(waiting.block == BlockIndex{next++});
        }
        CHECK(next == pushed);
    }
    while (!queue.empty()) {
        CHECK(queue.pop_front().block == BlockIndex{popped++});
    }
    CHECK(popped == pushed);
    CHECK(queue.begin() == queue.end());
}

TEST_CASE("a queue that never runs empty keeps to its memory") {
    OperationQueue queue;
    queue.push_back(operation(0));
    for (std::uint32_t i = 1; i < 10'000; ++i) {
        queue.push_back(operation(i));
        CHECK(queue.pop_front().block == BlockIndex{i - 1});
    }
    CHECK(queue.size() == 1);
    CHECK(queue.room() < 16);
}

}  // namespace
}  // namespace stage::core

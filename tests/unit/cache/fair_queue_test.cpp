#include "stager/cache/fair_queue.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>

using namespace stage;

namespace {

constexpr auto anybody = [](std::uint32_t) { return true; };

/// All that is left, in order.
std::string drain(FairQueue<std::string>& queue) {
    std::string all;
    while (auto item = queue.pop(anybody)) {
        all += *item;
    }
    return all;
}

}  // namespace

TEST_CASE("users take turns, and each user's items keep their order") {
    FairQueue<std::string> queue{64};
    for (const char* item : {"a1 ", "a2 ", "a3 ", "a4 "}) {
        CHECK(queue.push(7, item));
    }
    CHECK(queue.pop(anybody) == "a1 ");
    CHECK(queue.push(9, "c1 "));
    CHECK(queue.push(8, "b1 "));
    CHECK(queue.push(8, "b2 "));
    CHECK(drain(queue) == "b1 c1 a2 b2 a3 a4 ");
    CHECK_FALSE(queue.pop(anybody));
}

TEST_CASE("a user that is held back delays no other user") {
    FairQueue<std::string> queue{64};
    CHECK(queue.push(1, "a1 "));
    CHECK(queue.push(1, "a2 "));
    CHECK(queue.push(2, "b1 "));
    const auto not_the_first = [](std::uint32_t uid) { return uid != 1; };
    CHECK(queue.pop(not_the_first) == "b1 ");
    CHECK_FALSE(queue.pop(not_the_first));
    CHECK(drain(queue) == "a1 a2 ");
}

TEST_CASE("one user's items leave places to others, and free theirs when served") {
    FairQueue<std::unique_ptr<int>> queue{8};
    std::size_t taken = 0;
    while (queue.push(1, std::make_unique<int>(1))) {
        ++taken;
    }
    CHECK(taken == 4);
    CHECK(queue.push(2, std::make_unique<int>(2)));
    CHECK_FALSE(queue.push(1, std::make_unique<int>(1)));
    for (int i = 0; i < 5; ++i) {
        CHECK(queue.pop(anybody));
    }
    CHECK(queue.push(1, std::make_unique<int>(1)));
}

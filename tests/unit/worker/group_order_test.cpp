// Tests that a launcher's order is parsed, and anything else refused.
#include "stager/worker/engine/group_order.h"

#include "tests/unit/files/scratch.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace stage {
namespace {

const std::string kKey(64, 'a');

/// What a worker makes of an order that begins so, and whose sender is silent then or has
/// closed its end. In a process of its own, as its signals are blocked.
std::string taken(const std::string& order, bool is_closed, std::chrono::milliseconds limit) {
    return test::in_child([&]() -> std::string {
        std::array<int, 2> ends{};
        auto interrupts = Interrupts::make();
        if (::pipe2(ends.data(), O_CLOEXEC) != 0 || !interrupts || !interrupts->limit(limit)) {
            return "no pipe or interrupts";
        }
        const UniqueFd input{ends[0]};
        UniqueFd sender{ends[1]};
        if (::write(sender.get(), order.data(), order.size()) !=
            static_cast<ssize_t>(order.size())) {
            return "not written";
        }
        if (is_closed) {
            sender.reset();
        }
        const auto order_taken = take_group_order("-", input.get(), *interrupts);
        return order_taken ? std::to_string(order_taken->hosts.size()) + " members"
                           : order_taken.error().sentence();
    });
}

}  // namespace

TEST_CASE("an order is a key and the members' addresses") {
    const auto order = parse_group_order(kKey + "\n10.0.0.1\n10.0.0.2\n");
    REQUIRE(order);
    CHECK(order->key[31] == std::byte{0xaa});
    REQUIRE(order->hosts.size() == 2);
    CHECK(to_string(order->hosts[1]) == "10.0.0.2");
}

TEST_CASE("an order without a key or without members is refused") {
    CHECK_FALSE(parse_group_order(""));
    CHECK_FALSE(parse_group_order(kKey));
    CHECK_FALSE(parse_group_order(kKey + "\n"));
    CHECK_FALSE(parse_group_order(kKey.substr(1) + "\n10.0.0.1\n"));
    CHECK_FALSE(parse_group_order("10.0.0.1\n"));
    CHECK_FALSE(parse_group_order(kKey + "\n10.0.0.1 10.0.0.2\n"));
    CHECK_FALSE(parse_group_order(kKey + "\n0.0.0.0\n"));
}

TEST_CASE("an order is read to its end, within the time limit of the work") {
    CHECK(taken(kKey + "\n10.0.0.1\n", true, std::chrono::minutes{10}) == "1 members");
    CHECK_THAT(taken(kKey + "\n10.0.0.1\n", false, std::chrono::milliseconds{20}),
               Catch::Contains("the group's order: not done within"));
}

TEST_CASE("a member finds its rank by its address") {
    const auto order = parse_group_order(kKey + "\n203.0.113.251\n127.0.0.1\n");
    REQUIRE(order);
    const auto own = rank_of_this_host(order->hosts);
    REQUIRE(own);
    CHECK(*own == Rank{1});
    const auto others = parse_group_order(kKey + "\n203.0.113.251\n203.0.113.252\n");
    REQUIRE(others);
    CHECK_FALSE(rank_of_this_host(others->hosts));
}

}  // namespace stage

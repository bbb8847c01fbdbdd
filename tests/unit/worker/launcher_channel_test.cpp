// Tests what a worker takes from its launcher, and how each wait for it ends.
#include "stager/worker/engine/launcher_channel.h"

#include "pmix/launch_channel.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/pmix/cards.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace stage {
namespace {

using Catch::Contains;
using namespace std::chrono_literals;

/// What a worker says to the cards of a launcher that writes `text`, and is silent then or has
/// closed its end. In a process of its own, as its signals are blocked.
std::string taken(const std::string& text,
                  bool is_closed,
                  std::chrono::milliseconds longest,
                  std::chrono::milliseconds limit = 10min) {
    return test::in_child([&]() -> std::string {
        std::array<int, 2> ends{};
        auto interrupts = Interrupts::make();
        if (::pipe2(ends.data(), O_CLOEXEC) != 0 || !interrupts || !interrupts->limit(limit)) {
            return "no pipe or interrupts";
        }
        const UniqueFd input{ends[0]};
        UniqueFd sender{ends[1]};
        if (::write(sender.get(), text.data(), text.size()) !=
            static_cast<ssize_t>(text.size())) {
            return "not written";
        }
        if (is_closed) {
            sender.reset();
        }
        LauncherChannel channel{input.get(), *interrupts};
        const auto key = channel.key(longest);
        const auto table =
            key ? channel.take(longest) : Result<std::vector<std::byte>>{key.error()};
        const auto cards = table ? decode_cards(*table) : Result<CardTable>{table.error()};
        return cards ? std::to_string(cards->size()) + " cards" : cards.error().sentence();
    });
}

std::string key() {
    return key_line(LaunchKey{std::byte{7}});
}

}  // namespace

TEST_CASE("a worker takes key and cards from its launcher") {
    const std::string whole = key() + table_line(encode_cards(cards_of(3)));
    CHECK(taken(whole, true, 10min) == "3 cards");
    CHECK(taken(whole, false, 10min) == "3 cards");  // The end of input is not waited for.
}

TEST_CASE("what does not begin with a key is refused, and not repeated") {
    const std::string said = taken("5a5a5a\n", false, 10min);
    CHECK_THAT(said, Contains("does not begin with the group's key"));
    CHECK_THAT(said, !Contains("5a5a5a"));
}

TEST_CASE("another line than the table, or a broken one, is refused") {
    CHECK_THAT(taken(key() + "x\n", false, 10min), Contains("is no table of cards"));
    CHECK_THAT(taken(key() + "stagecast-table 00\n", false, 10min), Contains("table of cards"));
}

TEST_CASE("a launcher that ends or is silent ends the wait") {
    CHECK_THAT(taken("", true, 10min), Contains("the launcher has closed its channel"));
    CHECK_THAT(taken(key(), true, 10min), Contains("the launcher has closed its channel"));
    CHECK_THAT(taken(key() + "stagecast-table 00", true, 10min),
               Contains("the launcher has closed its channel"));
    CHECK(taken(key(), false, 20ms) == "waiting for the launcher: no answer within 0 s");
    CHECK_THAT(taken(key(), false, 10min, 20ms), Contains("not done within"));
}

}  // namespace stage

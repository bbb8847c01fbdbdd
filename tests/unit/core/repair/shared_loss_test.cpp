#include "transport/core/repair/shared_loss.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr Duration kWindow = milliseconds{10};

wire::ChunkRun lost_run(unsigned in_block, unsigned first, unsigned count) {
    return {.block = block(in_block),
            .first = static_cast<std::uint16_t>(first),
            .count = static_cast<std::uint16_t>(count)};
}

/// What the source does when a member asks.
struct Asked {
    std::vector<wire::ChunkRun> alone;
    std::vector<wire::ChunkRun> repeat;
};

Asked ask(SharedLoss& loss,
          Instant now,
          unsigned from,
          std::vector<wire::ChunkRun> runs,
          bool is_lost_by_peers = false) {
    const wire::Request request{.id = 1, .runs = std::move(runs)};
    wire::Request alone;
    Asked asked;
    loss.on_request(
        now,
        {.from = rank(from), .window = kWindow, .is_lost_by_peers = is_lost_by_peers},
        request,
        alone,
        asked.repeat);
    asked.alone = alone.runs;
    for (const auto& each : asked.repeat) {
        loss.on_repeat(now, each);
    }
    return asked;
}

}  // namespace

TEST_CASE("what half of the representatives miss is repeated, once") {
    SharedLoss loss{{}, 4, 100};
    std::vector<wire::ChunkRun> repeat;
    loss.on_missing(lost_run(1, 10, 5), repeat);
    CHECK(repeat.empty());
    loss.on_missing(lost_run(1, 12, 8), repeat);
    CHECK(repeat == std::vector<wire::ChunkRun>{lost_run(1, 12, 3)});
    loss.on_repeat(kStart, repeat[0]);
    repeat.clear();
    loss.on_missing(lost_run(1, 12, 1), repeat);
    loss.on_missing(lost_run(1, 12, 1), repeat);
    loss.on_missing(lost_run(1, 12, 1), repeat);
    CHECK(repeat.empty());
}

TEST_CASE("one representative can't tell a shared loss from its own") {
    SharedLoss loss{{}, 1, 100};
    std::vector<wire::ChunkRun> repeat;
    loss.on_missing(lost_run(0, 0, 100), repeat);
    CHECK(repeat.empty());
}

TEST_CASE("a lost_run beyond the block is cut") {
    SharedLoss loss{{}, 2, 10};
    std::vector<wire::ChunkRun> repeat;
    loss.on_missing(lost_run(0, 8, 1000), repeat);
    loss.on_missing(lost_run(0, 8, 1000), repeat);
    CHECK(repeat == std::vector<wire::ChunkRun>{lost_run(0, 8, 2)});
    loss.on_missing(lost_run(0, 10, 1), repeat);
    CHECK(repeat.size() == 1);
}

TEST_CASE("the first requester is answered alone, and the second makes it the group's") {
    SharedLoss loss{{}, 8, 100};
    const auto first = ask(loss, kStart, 3, {lost_run(2, 5, 2), lost_run(2, 9, 1)});
    CHECK(first.alone == std::vector<wire::ChunkRun>{lost_run(2, 5, 2), lost_run(2, 9, 1)});
    CHECK(first.repeat.empty());
    const auto again = ask(loss, kStart + milliseconds{1}, 3, {lost_run(2, 5, 2)});
    CHECK(again.alone.size() == 1);
    const auto second =
        ask(loss, kStart + milliseconds{2}, 4, {lost_run(2, 6, 2), lost_run(2, 9, 1)});
    CHECK(second.repeat == std::vector<wire::ChunkRun>{lost_run(2, 6, 1), lost_run(2, 9, 1)});
    CHECK(second.alone == std::vector<wire::ChunkRun>{lost_run(2, 7, 1)});
    const auto third = ask(loss, kStart + milliseconds{3}, 5, {lost_run(2, 6, 1)});
    CHECK(third.alone.empty());
    CHECK(third.repeat.empty());
    // Lost again, and requested after the window: by the same member it is sent to that one, by
    // another to the group.
    const auto later = kStart + milliseconds{30};
    CHECK(ask(loss, later, 5, {lost_run(2, 6, 1)}).alone.size() == 1);
    CHECK(ask(loss, later, 6, {lost_run(2, 6, 1)}).repeat.size() == 1);
}

TEST_CASE("what a requester's peers lack is repeated to the group") {
    SharedLoss loss{{}, 8, 100};
    const auto first = ask(loss, kStart, 3, {lost_run(2, 5, 2)}, true);
    CHECK(first.alone.empty());
    CHECK(first.repeat == std::vector<wire::ChunkRun>{lost_run(2, 5, 2)});
    // It is in flight for a while.
    const auto second = ask(loss, kStart + milliseconds{1}, 4, {lost_run(2, 5, 2)}, true);
    CHECK(second.alone.empty());
    CHECK(second.repeat.empty());
    CHECK(ask(loss, kStart + milliseconds{30}, 4, {lost_run(2, 5, 2)}, true).repeat.size() ==
          1);
}

TEST_CASE("a descriptor is the asker's own affair") {
    SharedLoss loss{{}, 8, 100};
    CHECK(ask(loss, kStart, 3, {lost_run(2, 0, 0)}, true).alone.size() == 1);
}

TEST_CASE("only a limited number of blocks is remembered") {
    FeedbackLimits limits;
    limits.votes_blocks_max = 2;
    SharedLoss loss{limits, 4, 10};
    std::vector<wire::ChunkRun> repeat;
    for (unsigned each = 0; each < 50; ++each) {
        loss.on_missing(lost_run(each, 0, 1), repeat);
        ask(loss, kStart + milliseconds{each}, 1, {lost_run(each, 0, 1)});
    }
    loss.on_missing(lost_run(0, 0, 1), repeat);  // its first vote was forgotten
    CHECK(repeat.empty());
}

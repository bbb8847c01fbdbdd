#include "transport/core/relay/relay_progress.h"

#include "tests/unit/core/parts.h"
#include "transport/core/base/timeouts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr std::uint32_t kBlocks = 10;

/// Nothing is sent here.
class NoHoldings final : public Holdings {
  public:
    [[nodiscard]] bool has(BlockIndex, std::uint32_t) const override { return false; }
    [[nodiscard]] bool can_load(BlockIndex) const override { return false; }
    [[nodiscard]] bool is_absent(BlockIndex) const override { return false; }
    [[nodiscard]] std::uint32_t chunks(BlockIndex) const override { return 0; }
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex, std::uint32_t) const override {
        return {};
    }
};

/// The source of a chain of four, whose only child is rank 1.
struct Source {
    Source() { progress.on_moved(kStart); }
    /// The members from rank 1 up to `last` are connected, and hold this together.
    void connect(unsigned last, std::uint32_t blocks) {
        children.on_ready(now, rank(1));
        progress.on_ready(now, rank(1));
        wire::Pulse pulse;
        pulse.packets = blocks;
        pulse.gained = blocks;
        pulse.joined = {{.first = rank(1), .last = rank(last)}};
        children.on_pulse(rank(1), pulse);
        progress.on_gained(now, children.gained());
        progress.look(now, children, result);
    }
    [[nodiscard]] Duration left() const { return progress.deadline() - now; }
    [[nodiscard]] std::vector<Rank> stuck() const { return progress.stuck(children, result); }

    Instant now = kStart;
    CoreConfig config = config_of(0, 4);
    NoHoldings holdings;
    BufferPool pool{8};
    RelayChildren children{config, Flow{}, RelayLimits{}, holdings, pool};
    BroadcastResult result{config};
    RelayProgress progress{config, EndingLimits{}, {.members = 4, .source = {}}, kBlocks};
};

}  // namespace

TEST_CASE("a source to which no member connects waits as long as for a READY") {
    const Source source;
    CHECK(source.left() == source.config.ready_timeout);
    CHECK(source.progress.why().find("no node has connected") == 0);
    CHECK(source.stuck() == std::vector{rank(1), rank(2), rank(3)});
}

TEST_CASE("a member makes progress when it connects and when a block is gained") {
    Source source;
    source.now += seconds{1};
    source.connect(1, 0);
    CHECK(source.left() == source.config.stall_timeout);
    source.now += seconds{1};
    source.connect(1, 0);
    CHECK(source.left() == source.config.stall_timeout - seconds{1});
    source.connect(1, 1);
    CHECK(source.left() == source.config.stall_timeout);
    CHECK(source.progress.why().find("this node made no progress for 8 s") == 0);
}

TEST_CASE("members that are not connected are blamed before those that are") {
    Source source;
    source.connect(2, 3);
    CHECK(source.stuck() == std::vector{rank(3)});
    source.connect(3, 3);
    CHECK(source.stuck() == std::vector{rank(1), rank(2), rank(3)});
    source.result.on_done(rank(2));
    CHECK(source.stuck() == std::vector{rank(1), rank(3)});
}

TEST_CASE("a group that holds all blocks has the time that finishing takes") {
    Source source;
    source.connect(3, 3 * kBlocks);
    CHECK(source.left() == finish_timeout(source.config, EndingLimits{}));
}

TEST_CASE("a member that was done before it was lost is counted as a holder") {
    Source source;
    source.result.on_done(rank(3));
    source.connect(2, 2 * kBlocks);
    CHECK(source.left() == finish_timeout(source.config, EndingLimits{}));
}

TEST_CASE("a member that is lost while all finish has the stall timeout to come back") {
    Source source;
    source.connect(3, 3 * kBlocks);
    source.now += seconds{9};
    source.connect(2, 2 * kBlocks);
    CHECK(source.left() == source.config.stall_timeout);
}

TEST_CASE("of a member that is lost again and again only the times of absence count") {
    Source source;
    source.connect(3, 3 * kBlocks);
    source.now += seconds{1};
    source.connect(2, 2 * kBlocks);
    source.now += seconds{2};
    source.connect(3, 3 * kBlocks);
    source.now += seconds{5};
    source.connect(2, 2 * kBlocks);
    CHECK(source.left() == source.config.stall_timeout - seconds{2});
    source.now += seconds{3};
    source.connect(3, 3 * kBlocks);
    source.now += seconds{1};
    source.connect(2, 2 * kBlocks);
    CHECK(source.left() == source.config.stall_timeout - seconds{5});
}

TEST_CASE("the source's own absence is no time without progress") {
    Source source;
    source.connect(1, 0);
    source.now += seconds{30};
    source.progress.forgive(source.now, seconds{29});
    CHECK(source.left() == source.config.stall_timeout - seconds{1});
}

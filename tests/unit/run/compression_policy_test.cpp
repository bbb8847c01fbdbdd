// Tests that compression is chosen where it makes things faster, and only there.
#include "transport/run/object/compression_policy.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace stage {
namespace {

/// A link and a core, both in bytes per second, and what compressing leaves of a byte.
struct World {
    double link;
    double core;
    double ratio;
    double disk = 2e9;
};

Duration taking(double bytes, double bytes_per_s) {
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(bytes / bytes_per_s));
}

/// Loads blocks through 24 buffers, each free again when the link has taken it; how many of the
/// last hundred were compressed.
int compressed(const World& world, double link_known) {
    constexpr int kBlocks = 300;
    constexpr int kBuffers = 24;
    CompressionPolicy choice{link_known};
    Instant now{std::chrono::seconds{1}};
    Instant link_free = now;
    std::vector<Instant> taken;
    int count = 0;
    for (int block = 0; block < kBlocks; ++block) {
        if (block >= kBuffers) {
            now = std::max(now, taken[static_cast<std::size_t>(block - kBuffers)]);
        }
        CompressionPolicy::Loaded loaded;
        loaded.begin = now;
        loaded.bytes = loaded.sent = kBlockBytes;
        now += taking(kBlockBytes, world.disk);
        loaded.read = now;
        loaded.was_tried = choice.wants_next();
        if (loaded.was_tried) {
            now += taking(kBlockBytes, world.core);
            loaded.sent = static_cast<std::size_t>(kBlockBytes * world.ratio);
            count += block >= kBlocks - 100 ? 1 : 0;
        }
        loaded.end = now;
        choice.tell(loaded);
        link_free =
            std::max(link_free, now) + taking(static_cast<double>(loaded.sent), world.link);
        taken.push_back(link_free);
    }
    return count;
}

}  // namespace

TEST_CASE("a slow link and data that give way: compressed") {
    const double known = GENERATE(0.0, 12.5e6);
    CHECK(compressed({.link = 12.5e6, .core = 300e6, .ratio = 0.4}, known) == 100);
    CHECK(compressed({.link = 125e6, .core = 400e6, .ratio = 0.5}, known) == 100);
}

TEST_CASE("random data, or a link that is faster than the core: one of eight, to look") {
    const double known = GENERATE(0.0, 1.25e9);
    CHECK(compressed({.link = 12.5e6, .core = 300e6, .ratio = 1.0}, known) <= 14);
    CHECK(compressed({.link = 1.25e9, .core = 300e6, .ratio = 0.4}, known) <= 14);
}

TEST_CASE("a slow disk is no reason to compress") {
    CHECK(compressed({.link = 1e9, .core = 400e6, .ratio = 0.4, .disk = 100e6}, 0) <= 14);
}

}  // namespace stage

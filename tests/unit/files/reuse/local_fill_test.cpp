// Tests what a sink takes from its node before the broadcast (the noted blocks of a partial
// file) and gives to its node's daemon. With the node cache: sink_cache_test.cpp,
// sink_parts_test.cpp, tree_cache_test.cpp.
#include "stager/files/reuse/local_fill.h"

#include "stager/files/reuse/cache_candidates.h"
#include "stager/files/reuse/tree_spool.h"
#include "stager/files/targets/new_target.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/files/sink/fake_target.h"

#include <catch2/catch.hpp>

namespace stage {

using test::Deeds;
using test::said;

TEST_CASE("of a partial file only blocks that are as noted are held") {
    const Manifest manifest = test::manifest_of({2 * kBlockBytes});
    const std::vector<std::byte> block(kBlockBytes, std::byte{7});
    const Digest128 right = xxh3_128(block);
    Deeds deeds;
    SinkTargets targets;
    targets.resize(1);
    test::put_fake(
        targets, 0, "/d/a", deeds, {}, {.noted = {right, xxh3_128(Bytes{block}.first(1))}});
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{kBlockBytes}}) {
        REQUIRE(targets.use(0)->write(offset, block));
    }
    FileBlocks blocks{manifest, targets};
    LocalFill fill{manifest, targets, blocks};
    int checks = 0;
    CHECK(said(fill.resume([&] {
              ++checks;
              return Status{};
          })) == "ok");
    CHECK(checks == 2);
    CHECK(blocks.held().holds(BlockIndex{1}));
    CHECK_FALSE(blocks.held().holds(BlockIndex{2}));
    CHECK(fill.bytes() == kBlockBytes);
    CHECK_FALSE(fill.is_filled(0));
    std::vector<std::byte> room(kBlockBytes);
    CHECK_FALSE(fill.read(BlockIndex{1}, room));
}

TEST_CASE("an interrupt ends the comparison of a partial file") {
    const Manifest manifest = test::manifest_of({1});
    Deeds deeds;
    SinkTargets targets;
    targets.resize(1);
    test::put_fake(targets, 0, "/d/a", deeds, {}, {.noted = {Digest128{}}});
    FileBlocks blocks{manifest, targets};
    LocalFill fill{manifest, targets, blocks};
    CHECK(said(fill.resume([] { return Status{Error{Blame::user, "enough"}}; })) == "enough");
}

TEST_CASE("the daemon may keep stamped files, and those in progress that were not filled") {
    const test::Scratch from;
    Manifest manifest = test::manifest_of({1, 1, 1});
    for (const std::size_t stamped : {std::size_t{1}, std::size_t{2}}) {
        manifest.entries[stamped].stamp.assign(32, std::byte{9});
    }
    Deeds deeds;
    SinkTargets targets;
    targets.resize(3);
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string path = from.write(std::to_string(i), "x");
        test::put_fake(targets, i, path, deeds, {}, {.reads = path});
    }
    HeldBlocks held{manifest};
    const Digest128 leaf = xxh3_128(Bytes{});
    held.hold(manifest.entries[2].first_block, 1, leaf);
    const auto all = cache_candidates(manifest, targets, held, 9);
    REQUIRE(all.size() == 2);
    CHECK(all[1].sum == sum_of({leaf}));
    CHECK(all[0].sum != all[1].sum);
    CHECK(cache_candidates(manifest, targets, held, 1).size() == 1);
    const auto is_filled = [](std::size_t index) { return index != 2; };
    CHECK(files_in_progress(manifest, targets, is_filled, 9).size() == 1);
    CHECK(files_in_progress(manifest, targets, is_filled, 0).empty());
}

TEST_CASE("only a tree with a stamp is spooled") {
    const test::Scratch from;
    Manifest manifest = test::manifest_of({1});
    Deeds deeds;
    test::FakeTarget target{from.path("t"), deeds, {.lies_in = from.path()}};
    const HeldBlocks held{manifest};
    const auto always = [] { return true; };
    manifest.entries[0].stamp.assign(32, std::byte{9});
    CHECK_FALSE(spool_tree(manifest, 0, target, held, always));
    manifest.entries[0].index_bytes = 1;
    manifest.entries[0].stamp.clear();
    CHECK_FALSE(spool_tree(manifest, 0, target, held, always));
}

TEST_CASE("an entry with an index becomes a directory, another one a file") {
    const test::Scratch to;
    Manifest manifest = test::manifest_of({0});
    for (const bool is_tree : {false, true}) {
        TargetOrder order;
        order.place = {.root = to.path(), .below = "x"};
        manifest.entries[0].index_bytes = is_tree ? 1 : 0;
        const auto target = new_target(std::move(order), manifest.entries[0], {.job = "1"}, 0);
        REQUIRE(target);
        CHECK((*target)->is_directory() == is_tree);
        CHECK((*target)->path() == to.path("x"));
    }
}

}  // namespace stage

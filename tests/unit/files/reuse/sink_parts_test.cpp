// Tests that a job's stage resumes an interrupted one, and can be resumed itself.
#include "stager/cache/part_copy.h"
#include "stager/files/sink/source_and_sink.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <memory>

using namespace stage;
using test::content_of;
using test::noise;
using test::said;
using test::Scratch;
using Names = std::vector<std::string>;

namespace {

constexpr std::size_t kFileBytes = 4 * kBlockBytes + 9;

SourceStamp stamp(unsigned number) {
    SourceStamp all;
    all.fill(static_cast<std::byte>(number));
    return all;
}
core::BlockRun run(std::uint32_t first, std::uint32_t count) {
    return {.first = BlockIndex{first}, .count = count};
}
UniqueFd reading(const std::string& path) {
    return UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
}

/// A file of five blocks that a job has staged to "x".
struct Staged {
    Staged() : bytes{noise(kFileBytes)} {
        specs = {{.source = from.write("a", bytes), .root = to.path(), .below = "x"}};
        const auto source = FileSource::open(test::source_orders(specs), 0);
        REQUIRE(source);
        manifest = (*source)->manifest();
        blocks = test::object_of(specs);
        set_stamp(5);
    }
    void set_stamp(unsigned number) {
        const SourceStamp all = stamp(number);
        manifest.entries[0].stamp.assign(all.begin(), all.end());
        REQUIRE(manifest.lay_out().ok());
        blocks[0] = encode_manifest(manifest);
    }
    [[nodiscard]] SinkConfig config(bool is_noted = true) const {
        SinkConfig config = test::sink_config(specs);
        config.order_of = [plain = config.order_of, is_noted](const ManifestEntry& entry) {
            Result<SinkOrder> order = plain(entry);
            order->target.is_noted = is_noted;
            return order;
        };
        return config;
    }
    [[nodiscard]] std::unique_ptr<FileSink> begin(bool is_noted = true) const {
        auto sink = std::make_unique<FileSink>(config(is_noted));
        REQUIRE(said(sink->expect(blocks[0])) == "ok");
        return sink;
    }
    void put(FileSink& sink, std::initializer_list<std::uint32_t> numbers) const {
        for (const std::uint32_t block : numbers) {
            REQUIRE(test::put(sink, block, blocks[block]));
        }
    }
    /// Interrupts a stage after these blocks; returns the cached partial file.
    [[nodiscard]] std::string part(std::initializer_list<std::uint32_t> numbers) const {
        auto sink = begin();
        put(*sink, numbers);
        auto begun = sink->in_progress(9);
        REQUIRE(begun.size() == 1);
        CHECK(begun[0].bytes == kFileBytes);
        CHECK((::fcntl(begun[0].file.get(), F_GETFL) & O_ACCMODE) == O_RDONLY);
        sink.reset();
        CHECK(to.names().empty());
        const std::string path = cache.write("part", "");
        const UniqueFd file{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
        REQUIRE(said(copy_part(begun[0].file.get(),
                               file.get(),
                               {begun[0].stamp, begun[0].bytes},
                               [](auto) { return true; })) == "ok");
        return path;
    }
    /// What is in `earlier` is looked for, and taken.
    void take(FileSink& sink, const std::string& earlier, std::optional<Content> whole = {}) {
        const auto find = [&](const SourceStamp& wanted) {
            ++sought;
            CHECK(std::ranges::equal(wanted, manifest.entries[0].stamp));
            return PriorCopy{.file = reading(earlier), .whole = whole};
        };
        REQUIRE(said(sink.resume_from({.find = find, .has_time = [&] { return time-- > 0; }},
                                      {.find = [](const Content&) { return UniqueFd{}; },
                                       .spoilt = [this](const Content&) { ++spoilt; },
                                       .check = [] { return Status{}; }})) == "ok");
    }

    Scratch from;
    Scratch to;
    Scratch cache;
    std::string bytes;
    std::vector<test::Spec> specs;
    Manifest manifest;
    std::vector<std::vector<std::byte>> blocks;
    int sought = 0;
    int spoilt = 0;
    int time = 100;  ///< So often there is some left.
};

}  // namespace

TEST_CASE("an interrupted stage of a job continues from its received blocks") {
    Staged staged;
    const std::string part = staged.part({1, 2, 4});
    const auto again = staged.begin();
    staged.take(*again, part);
    CHECK(again->held_runs() == std::vector{run(0, 3), run(4, 1)});
    CHECK(again->bytes_filled() == 3 * kBlockBytes);
    staged.put(*again, {3, 5});
    REQUIRE(said(again->finish()) == "ok");
    CHECK(content_of(staged.to.path("x")) == staged.bytes);
    CHECK(staged.to.names() == Names{"x"});
}

TEST_CASE("interrupted again, it has the resumed blocks and the later ones") {
    Staged staged;
    const std::string part = staged.part({1, 2});
    auto second = staged.begin();
    staged.take(*second, part);
    staged.put(*second, {3});
    const auto begun = second->in_progress(9);
    REQUIRE(begun.size() == 1);
    const auto note = read_note(begun[0].file.get(), begun[0].stamp, kFileBytes);
    REQUIRE(note);
    for (const std::size_t block : {0U, 1U, 2U, 3U, 4U}) {
        CHECK(((*note)[block] != Digest128{}) == (block < 3));
    }
}

TEST_CASE("damaged blocks, and those of another version, are not used") {
    Staged staged;
    const std::string part = staged.part({1, 2, 3});
    SECTION("a byte") {
        const UniqueFd file{::open(part.c_str(), O_WRONLY | O_CLOEXEC)};
        REQUIRE(::pwrite(file.get(), "!", 1, kBlockBytes + 77) == 1);
        const auto again = staged.begin();
        staged.take(*again, part);
        CHECK(again->held_runs() == std::vector{run(0, 2), run(3, 1)});
        staged.put(*again, {2, 4, 5});
        REQUIRE(said(again->finish()) == "ok");
    }
    SECTION("the source is another") {
        staged.set_stamp(6);
        const auto again = staged.begin();
        staged.take(*again, part);
        CHECK(again->held_runs().empty());
        staged.put(*again, {1, 2, 3, 4, 5});
        REQUIRE(said(again->finish()) == "ok");
    }
    SECTION("it is cut") {
        REQUIRE(::truncate(part.c_str(), kBlockBytes) == 0);
        const auto again = staged.begin();
        staged.take(*again, part);
        CHECK(again->held_runs().empty());
        staged.put(*again, {1, 2, 3, 4, 5});
        REQUIRE(said(again->finish()) == "ok");
    }
    CHECK(content_of(staged.to.path("x")) == staged.bytes);
}

TEST_CASE("a complete copy is used completely, if it has that content") {
    Staged staged;
    std::vector<Digest128> leaves;
    for (std::size_t block = 1; block < staged.blocks.size(); ++block) {
        leaves.push_back(xxh3_128(staged.blocks[block]));
    }
    const Content whole{.key = {}, .sum = sum_of(leaves)};
    const bool is_right = GENERATE(true, false);
    std::string text = staged.bytes;
    text[7] = static_cast<char>(text[7] + (is_right ? 0 : 1));
    const auto again = staged.begin();
    staged.take(*again, staged.cache.write("whole", text), whole);
    CHECK(again->holds_all() == is_right);
    CHECK(staged.spoilt == (is_right ? 0 : 1));
    CHECK(again->in_progress(9).empty() == is_right);
    if (!is_right) {
        staged.put(*again, {1, 2, 3, 4, 5});
    }
    REQUIRE(said(again->finish()) == "ok");
    CHECK(content_of(staged.to.path("x")) == staged.bytes);
}

TEST_CASE("blocks not copied in time are skipped, and no entry is reported as damaged") {
    Staged staged;
    const bool is_whole = GENERATE(true, false);
    const std::string earlier =
        is_whole ? staged.cache.write("whole", staged.bytes) : staged.part({1, 2, 3, 4, 5});
    staged.time = 3;  // One to begin with.
    const auto again = staged.begin();
    staged.take(*again, earlier, is_whole ? std::optional{Content{}} : std::nullopt);
    const auto runs = is_whole ? std::vector<core::BlockRun>{} : std::vector{run(0, 3)};
    CHECK(again->held_runs() == runs);
    CHECK(staged.spoilt == 0);
    CHECK(again->in_progress(1).size() == 1);
    staged.put(*again, {1, 2, 3, 4, 5});
    REQUIRE(said(again->finish()) == "ok");
    CHECK(content_of(staged.to.path("x")) == staged.bytes);
}

TEST_CASE("a file that is not noted is neither searched nor recorded") {
    Staged staged;
    const bool is_noted = GENERATE(false, true);
    const auto sink = staged.begin(is_noted);
    CHECK(sink->in_progress(9).size() == (is_noted ? 1 : 0));
    CHECK(sink->in_progress(0).empty());
    staged.take(*sink, "");
    CHECK(staged.sought == (is_noted ? 1 : 0));
}

TEST_CASE("a file that has its name has no note behind it") {
    const Staged staged;
    const auto sink = staged.begin();
    const auto begun = sink->in_progress(1);
    REQUIRE(begun.size() == 1);
    CHECK(read_note(begun[0].file.get(), begun[0].stamp, kFileBytes));
    staged.put(*sink, {1, 2, 3, 4, 5});
    REQUIRE(said(sink->finish()) == "ok");
    CHECK_FALSE(read_note(begun[0].file.get(), begun[0].stamp, kFileBytes));
    CHECK(content_of(staged.to.path("x")) == staged.bytes);
}

TEST_CASE("a stage of one node reads only missing blocks") {
    Staged staged;
    const std::string part = staged.part({1, 2, 4});
    auto source = FileSource::open(test::source_orders(staged.specs), 0);
    REQUIRE(source);
    FileSink sink{staged.config()};
    staged.manifest = (*source)->manifest();
    staged.set_stamp(5);
    REQUIRE(said(sink.expect(encode_manifest(staged.manifest))) == "ok");
    staged.take(sink, part);
    const SourceAndSink both{**source, sink};
    for (const std::uint32_t block : {1U, 2U, 3U, 4U, 5U}) {
        CHECK(both.holds(BlockIndex{block}) == (block == 1 || block == 2 || block == 4));
    }
    CHECK_FALSE(both.holds(BlockIndex{0}));
    CHECK_FALSE(both.holds(BlockIndex{6}));
}

TEST_CASE("blocks that are still to come are read in order, whichever come first") {
    Staged staged;
    auto source = FileSource::open(test::source_orders(staged.specs), 0);
    REQUIRE(source);
    FileSink sink{staged.config()};
    SourceAndSink both{**source, sink, /*is_coming=*/true};
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t next = 0; next < both.block_count(); ++next) {
        for (std::uint32_t block = 0; block < both.block_count(); ++block) {
            CHECK(both.is_here(BlockIndex{block}) == (block <= next));
        }
        REQUIRE(both.read(BlockIndex{next}, room));
    }
    CHECK(said(both.finish()) == "ok");
    SourceAndSink plain{**source, sink};
    CHECK(plain.is_here(BlockIndex{both.block_count() - 1}));
}

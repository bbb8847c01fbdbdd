// Tests which blocks of a partial file are used again.
#include "stager/files/target/partial.h"

#include "stager/files/sink/file_sink.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

using namespace stage;
using test::content_of;
using test::noise;
using test::said;
using test::Scratch;
using Names = std::vector<std::string>;

namespace {

constexpr const char* kPart = ".x.stagecast.part";
constexpr std::size_t kFileBytes = 4 * kBlockBytes + 9;

/// A file of five blocks to be pushed to "x", with a stamp.
struct Pushed {
    explicit Pushed(std::uint64_t seed = 1) : bytes{noise(kFileBytes, seed)} {
        specs = {{.source = from.write("a", bytes), .root = to.path(), .below = "x"}};
        const auto source = FileSource::open(test::source_orders(specs), 0);
        REQUIRE(source);
        manifest = (*source)->manifest();
        blocks = test::object_of(specs);
        stamp(std::byte{5});
    }
    void stamp(std::byte value) {
        manifest.entries[0].stamp.assign(32, value);
        REQUIRE(manifest.lay_out().ok());
        blocks[0] = encode_manifest(manifest);
    }
    /// A sink that has received the offer and resumed the partial file.
    [[nodiscard]] std::unique_ptr<FileSink> begin(bool is_resumable = true) const {
        SinkConfig config = test::sink_config(specs);
        config.order_of = [plain = config.order_of, is_resumable](const ManifestEntry& entry) {
            Result<SinkOrder> order = plain(entry);
            order->target.is_resumable = is_resumable;
            return order;
        };
        auto sink = std::make_unique<FileSink>(std::move(config));
        REQUIRE(said(sink->expect(blocks[0])) == "ok");
        REQUIRE(said(sink->resume([] { return Status{}; })) == "ok");
        return sink;
    }
    void put(FileSink& sink, std::initializer_list<std::uint32_t> numbers) const {
        for (const std::uint32_t block : numbers) {
            REQUIRE(test::put(sink, block, blocks[block]));
        }
    }
    /// It is pushed, and broken off after these blocks.
    void break_off(std::initializer_list<std::uint32_t> numbers) const {
        put(*begin(), numbers);
        REQUIRE(to.names() == Names{kPart});
    }

    Scratch from;
    Scratch to;
    std::string bytes;
    std::vector<test::Spec> specs;
    Manifest manifest;
    std::vector<std::vector<std::byte>> blocks;
};

core::BlockRun run(std::uint32_t first, std::uint32_t count) {
    return {.first = BlockIndex{first}, .count = count};
}

}  // namespace

TEST_CASE("received blocks are found by the next attempt, and only the rest is needed") {
    const Pushed pushed;
    pushed.break_off({1, 2, 4});
    const auto again = pushed.begin();
    CHECK(again->held_runs() == std::vector{run(0, 3), run(4, 1)});
    CHECK(again->bytes_filled() == 3 * kBlockBytes);
    CHECK_FALSE(again->holds_all());
    pushed.put(*again, {3, 5});
    CHECK(again->holds_all());
    REQUIRE(said(again->finish()) == "ok");
    CHECK(content_of(pushed.to.path("x")) == pushed.bytes);
    CHECK(pushed.to.names() == Names{"x"});
}

TEST_CASE("no partial file stays without `resume`, or without a block") {
    const Pushed pushed;
    SECTION("not asked for") {
        const auto sink = pushed.begin(false);
        pushed.put(*sink, {1, 2});
        CHECK(sink->held_runs().size() == 1);
    }
    SECTION("nothing came") {
        static_cast<void>(pushed.begin());
    }
    CHECK(pushed.to.names().empty());
}

TEST_CASE("a damaged byte is noticed: only its block is needed again") {
    const Pushed pushed;
    pushed.break_off({1, 2, 3, 4, 5});
    const std::string part = pushed.to.path(kPart);
    const UniqueFd file{::open(part.c_str(), O_WRONLY | O_CLOEXEC)};
    REQUIRE(::pwrite(file.get(), "!", 1, 2 * kBlockBytes + 77) == 1);
    const auto again = pushed.begin();
    CHECK(again->held_runs() == std::vector{run(0, 3), run(4, 2)});
    pushed.put(*again, {3});
    REQUIRE(said(again->finish()) == "ok");
    CHECK(content_of(pushed.to.path("x")) == pushed.bytes);
}

TEST_CASE("blocks of another source are not used") {
    Pushed pushed;
    pushed.break_off({1, 2, 3});
    pushed.stamp(std::byte{6});
    const auto again = pushed.begin();
    CHECK(again->held_runs().empty());
    pushed.put(*again, {1, 2, 3, 4, 5});
    REQUIRE(said(again->finish()) == "ok");
    CHECK(content_of(pushed.to.path("x")) == pushed.bytes);
}

TEST_CASE("a source without a stamp leaves nothing and resumes nothing") {
    Pushed pushed;
    pushed.manifest.entries[0].stamp.clear();
    REQUIRE(pushed.manifest.lay_out().ok());
    pushed.blocks[0] = encode_manifest(pushed.manifest);
    pushed.put(*pushed.begin(), {1, 2});
    CHECK(pushed.to.names().empty());
}

TEST_CASE("a push without resume removes an earlier partial file") {
    const Pushed pushed;
    pushed.break_off({1});
    const auto sink = pushed.begin(false);
    pushed.put(*sink, {1, 2, 3, 4, 5});
    REQUIRE(said(sink->finish()) == "ok");
    CHECK(pushed.to.names() == Names{"x"});
}

TEST_CASE("two pushes at once don't write one file") {
    const Pushed pushed;
    pushed.break_off({1});
    const auto first = pushed.begin();
    SinkConfig config = test::sink_config(pushed.specs);
    config.order_of = [plain = config.order_of](const ManifestEntry& entry) {
        Result<SinkOrder> order = plain(entry);
        order->target.is_resumable = true;
        return order;
    };
    FileSink second{std::move(config)};
    CHECK(said(second.expect(pushed.blocks[0])).find("is in the way") != std::string::npos);
    pushed.put(*first, {2, 3, 4, 5});
    CHECK(said(first->finish()) == "ok");
}

TEST_CASE("a partial file with a second name, a link or another mode is not written") {
    const Scratch at;
    const std::string victim = at.write("victim", "precious");
    REQUIRE(::chmod(victim.c_str(), 0600) == 0);
    const UniqueFd directory{::open(at.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const std::string part = at.path(kPart);
    SECTION("a hard link") {
        REQUIRE(::link(victim.c_str(), part.c_str()) == 0);
    }
    SECTION("a symbolic link") {
        REQUIRE(::symlink(victim.c_str(), part.c_str()) == 0);
    }
    SECTION("a mode that a partial never has") {
        at.write(kPart, "mine");
        REQUIRE(::chmod(part.c_str(), 04600) == 0);
    }
    SECTION("locked") {
        at.write(kPart, "mine");
        REQUIRE(::chmod(part.c_str(), 0600) == 0);
        static const UniqueFd other{::open(part.c_str(), O_RDONLY | O_CLOEXEC)};
        REQUIRE(::flock(other.get(), LOCK_EX) == 0);
    }
    SECTION("a directory") {
        REQUIRE(::mkdir(part.c_str(), 0700) == 0);
    }
    CHECK_FALSE(open_partial(directory.get(), kPart));
    remove_partial(directory.get(), kPart);
    struct stat status {};
    CHECK(::lstat(part.c_str(), &status) == 0);
    CHECK(content_of(victim) == "precious");
}

TEST_CASE("a hard link in the way is taken away, and what it names stays as it is") {
    const Pushed pushed;
    const std::string victim = pushed.from.write("victim", "precious");
    REQUIRE(::chmod(victim.c_str(), 0600) == 0);
    REQUIRE(::link(victim.c_str(), pushed.to.path(kPart).c_str()) == 0);
    const auto sink = pushed.begin();
    pushed.put(*sink, {1, 2, 3, 4, 5});
    REQUIRE(said(sink->finish()) == "ok");
    CHECK(content_of(victim) == "precious");
    CHECK(content_of(pushed.to.path("x")) == pushed.bytes);
}

TEST_CASE("a note is valid for its stamp and size, as far as it goes") {
    SourceStamp stamp{};
    stamp.fill(std::byte{7});
    std::vector<Digest128> leaves(3);
    leaves[0].fill(std::byte{1});
    leaves[2].fill(std::byte{3});
    const std::uint64_t size = 2 * kBlockBytes + 1;
    const auto bytes = encode_note(stamp, size, leaves);
    CHECK(decode_note(bytes, stamp, size) == leaves);
    CHECK_FALSE(decode_note(bytes, stamp, size + 1));
    CHECK_FALSE(decode_note(bytes, SourceStamp{}, size));
    const auto shorter = decode_note(Bytes{bytes}.first(bytes.size() - 1), stamp, size);
    REQUIRE(shorter);
    CHECK((*shorter)[0] == leaves[0]);
    CHECK((*shorter)[2] == Digest128{});
    CHECK_FALSE(decode_note(Bytes{bytes}.first(40), stamp, size));
    CHECK_FALSE(decode_note({}, stamp, size));
}

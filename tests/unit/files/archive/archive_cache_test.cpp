// Tests that an archive from the node cache is verified and unpacked.
#include "tests/unit/files/archives.h"
#include "tests/unit/files/cached.h"
#include "tests/unit/root.h"

#include <unistd.h>

namespace stage {
namespace {

using test::all_of;
using test::content_of;
using test::content_of_bytes_in;
using test::Filled;
using test::Offer;
using test::said;
using test::Scratch;
using test::Spec;
using test::Tar;
using Names = std::vector<std::string>;

std::string archived(const std::string& large = test::noise(2 * kBlockBytes)) {
    return Tar{}.file("a", "first").file("d/large", large).symlink("l", "a").bytes();
}

/// `bytes` as an archive to be unpacked as "t" below `to`.
std::vector<Spec> unpacked(const Scratch& from, const Scratch& to, const std::string& bytes) {
    return {{.source = from.write("x.tar", bytes),
             .root = to.path(),
             .below = "t",
             .is_unpacked = true}};
}

}  // namespace

TEST_CASE("a received archive is offered to the cache and can be read") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = archived();
    const std::vector<Spec> specs = unpacked(from, to, bytes);
    const Offer offer{specs, content_of_bytes_in(bytes)};
    std::vector<CacheCandidate> kept;
    {
        Filled filled{specs, offer, ""};
        CHECK(filled.asked == 1);
        CHECK(filled.sink.bytes_held() == 0);
        REQUIRE(said(test::deliver(offer.blocks, filled.sink, 3)) == "ok");
        kept = filled.sink.cache_candidates(9);
    }
    REQUIRE(kept.size() == 1);
    CHECK(kept[0].bytes == bytes.size());
    CHECK(kept[0].sum == content_of_bytes_in(bytes).sum);
    CHECK((all_of(kept[0].file.get(), bytes.size()) == bytes));
    CHECK(::write(kept[0].file.get(), "x", 1) == -1);
    CHECK(to.names() == Names{"t/a", "t/d/large", "t/l"});
}

TEST_CASE("where space is scarce an archive is not offered to the cache", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    const std::string bytes = archived(test::noise(kBlockBytes));
    const std::vector<Spec> specs = unpacked(from, to, bytes);
    const auto kept_on = [&](std::uint64_t disk) {
        return test::in_child([&]() -> std::string {
            if (!test::mount_small(to.path(), disk)) {
                return "no mount";
            }
            FileSink sink{test::sink_config(specs)};
            const Offer offer{specs, Content{}};
            const std::string how = said(test::deliver(offer.blocks, sink, 3));
            return how + ' ' + std::to_string(sink.cache_candidates(9).size());
        });
    };
    CHECK(kept_on(7 * kBlockBytes / 2) == "ok 0");
    CHECK(kept_on(6 * kBlockBytes) == "ok 1");
}

TEST_CASE("an archive from the cache is unpacked, and served to others") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = archived();
    const std::vector<Spec> specs = unpacked(from, to, bytes);
    const Offer offer{specs, content_of_bytes_in(bytes)};
    Filled filled{specs, offer, from.write("cached", bytes)};
    REQUIRE(said(filled.status) == "ok");
    CHECK(filled.spoilt == 0);
    CHECK(filled.sink.holds_all());
    CHECK(filled.sink.bytes_filled() == bytes.size());
    CHECK(test::read_to_send(specs, offer, filled.sink) == 0);
    REQUIRE(said(filled.sink.finish()) == "ok");
    CHECK((content_of(to.path("t/d/large")) == test::noise(2 * kBlockBytes)));
    CHECK(to.names() == Names{"t/a", "t/d/large", "t/l"});
    // A node may have the bytes by another file's name: it learns this one.
    const auto kept = filled.sink.cache_candidates(9);
    REQUIRE(kept.size() == 1);
    CHECK((all_of(kept[0].file.get(), bytes.size()) == bytes));
    CHECK(::write(kept[0].file.get(), "x", 1) == -1);
}

TEST_CASE("a cache entry that is not the archive is not unpacked") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = archived();
    std::string other = bytes;
    other[512] = 'F';  // Still an archive, with other content in its first member.
    const std::string wrong =
        GENERATE_COPY(values<std::string>({other,
                                           Tar{}.file("evil", test::noise(9)).bytes(),
                                           bytes.substr(0, bytes.size() - 512),
                                           bytes + std::string(512, '\0')}));
    const std::vector<Spec> specs = unpacked(from, to, bytes);
    const Offer offer{specs, content_of_bytes_in(bytes)};
    Filled filled{specs, offer, from.write("cached", wrong)};
    REQUIRE(said(filled.status) == "ok");
    CHECK(filled.spoilt == 1);
    CHECK(filled.sink.bytes_held() == 0);
    REQUIRE(said(test::deliver(offer.blocks, filled.sink, 3)) == "ok");
    CHECK(content_of(to.path("t/a")) == "first");
    CHECK(to.names() == Names{"t/a", "t/d/large", "t/l"});
}

TEST_CASE("a hostile archive is refused from the cache, too, and leaves nothing") {
    const Scratch from;
    const Scratch to;
    const Scratch outside;
    const std::string way = outside.path();
    const Tar large = Tar{}.file("ok", test::noise(kBlockBytes));
    const std::string bytes = GENERATE_COPY(
        values<std::string>({Tar{large}.file("../evil", "x").bytes(),
                             Tar{large}.symlink("way", way).file("way/evil", "x").bytes(),
                             Tar{large}.other("null", '3').bytes(),
                             Tar{large}.unfinished()}));
    const std::vector<Spec> specs = unpacked(from, to, bytes);
    const Offer offer{specs, content_of_bytes_in(bytes)};
    {
        Filled filled{specs, offer, from.write("cached", bytes)};
        REQUIRE(said(filled.status) == "ok");
        CHECK(filled.spoilt == 0);
        CHECK(filled.sink.holds_all());
        CHECK_THAT(said(filled.sink.finish()), Catch::Contains("x.tar: "));
    }
    CHECK(to.names().empty());
    CHECK(outside.names().empty());
    CHECK(from.names() == Names{"cached", "x.tar"});
}

TEST_CASE("ending the work while the cache is read ends the unpacking, too") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = archived();
    const std::vector<Spec> specs = unpacked(from, to, bytes);
    const Offer offer{specs, content_of_bytes_in(bytes)};
    {
        Filled filled{specs, offer, from.write("cached", bytes), 1};
        CHECK(said(filled.status) == "enough");
        CHECK_FALSE(filled.sink.holds_all());
    }
    CHECK(to.names().empty());
}

TEST_CASE("an existing directory that is kept is not unpacked over") {
    const Scratch from;
    const Scratch to;
    to.write("t/mine", "mine");
    const std::string bytes = archived();
    std::vector<Spec> specs = unpacked(from, to, bytes);
    specs[0].existing = Existing::keep;
    const Offer offer{specs, content_of_bytes_in(bytes)};
    Filled filled{specs, offer, from.write("cached", bytes)};
    REQUIRE(said(filled.status) == "ok");
    REQUIRE(said(filled.sink.finish()) == "ok");
    CHECK(to.names() == Names{"t/mine"});
    CHECK(filled.sink.cache_candidates(9).empty());
}

TEST_CASE("an archive has a stamp, as any file, and its content may be known") {
    const Content content{.key = {std::byte{1}}, .sum = {}};
    const auto known = [&](const SourceStamp&) { return std::optional{content}; };
    const auto source = FileSource::open(
        {{.spec = 0, .path = "/etc/passwd", .line = {}, .is_plain = true}}, 0, known);
    REQUIRE(source);
    const ManifestEntry& entry = (*source)->manifest().entries[0];
    CHECK(entry.stamp_if_any());
    CHECK(entry.content == bytes_of(content));
}

}  // namespace stage

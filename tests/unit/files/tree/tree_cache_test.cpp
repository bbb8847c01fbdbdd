// Tests that a tree is kept in the node cache, and restored from a verified entry.
#include "tests/unit/files/cached.h"

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
using Names = std::vector<std::string>;

/// A tree "t" of a long file, small ones and a link, to be staged as "t" below `to`.
std::vector<Spec> tree(const Scratch& from, const Scratch& to) {
    from.write("t/a", "first");
    from.write("t/d/large", test::noise(2 * kBlockBytes + 77));
    from.write("t/d/small", "last");
    REQUIRE(::symlink("a", from.path("t/l").c_str()) == 0);
    return {{.source = from.path("t"), .root = to.path(), .below = "t"}};
}

bool always() {
    return true;
}

/// The entry in a node's cache after a first staging.
std::string kept_of(const std::vector<Spec>& specs) {
    const Scratch first;
    std::vector<Spec> there = specs;
    there[0].root = first.path();
    const Offer offer{there, Content{}};
    Filled filled{there, offer, ""};
    REQUIRE(said(test::deliver(offer.blocks, filled.sink, 3)) == "ok");
    const auto kept = filled.sink.spooled(0, always);
    REQUIRE(kept);
    CHECK(::write(kept->file.get(), "x", 1) == -1);
    std::string bytes = all_of(kept->file.get(), kept->bytes);
    CHECK(bytes.size() == kept->bytes);
    CHECK(kept->sum == content_of_bytes_in(bytes).sum);
    CHECK(filled.sink.cache_candidates(9).empty());
    CHECK(first.names() == Names{"t/a", "t/d/large", "t/d/small", "t/l"});
    return bytes;
}

void check_tree(const Scratch& to) {
    CHECK(content_of(to.path("t/a")) == "first");
    CHECK((content_of(to.path("t/d/large")) == test::noise(2 * kBlockBytes + 77)));
    CHECK(to.names() == Names{"t/a", "t/d/large", "t/d/small", "t/l"});
}

}  // namespace

TEST_CASE("a cached tree is restored, and served to others") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs = tree(from, to);
    const std::string kept = kept_of(specs);
    const Offer offer{specs, content_of_bytes_in(kept)};
    Filled filled{specs, offer, from.write("cached", kept)};
    REQUIRE(said(filled.status) == "ok");
    CHECK(filled.spoilt == 0);
    CHECK(filled.sink.holds_all());
    CHECK(test::read_to_send(specs, offer, filled.sink) == 0);
    REQUIRE(said(filled.sink.finish()) == "ok");
    check_tree(to);
    CHECK_FALSE(filled.sink.spooled(0, always));
}

TEST_CASE("a cache entry that is not the tree is not used") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs = tree(from, to);
    const std::string kept = kept_of(specs);
    std::string index = kept;
    index[30] = static_cast<char>(index[30] ^ 1);
    std::string data = kept;
    data[kBlockBytes] = static_cast<char>(data[kBlockBytes] ^ 1);
    const std::string wrong = GENERATE_COPY(
        values<std::string>({index, data, kept.substr(0, kept.size() - 1), kept + 'x', "x"}));
    const Offer offer{specs, content_of_bytes_in(kept)};
    Filled filled{specs, offer, from.write("cached", wrong)};
    REQUIRE(said(filled.status) == "ok");
    CHECK(filled.spoilt == 1);
    CHECK(filled.sink.bytes_held() == 0);
    REQUIRE(said(test::deliver(offer.blocks, filled.sink, 3)) == "ok");
    check_tree(to);
}

TEST_CASE("a tree that is already in use is not kept") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs = tree(from, to);
    const Offer offer{specs, Content{}};
    Filled filled{specs, offer, ""};
    REQUIRE(said(test::deliver(offer.blocks, filled.sink, 3)) == "ok");
    CHECK_FALSE(filled.sink.spooled(0, [] { return false; }));
    CHECK(filled.sink.spooled(0, always));
    SECTION("a file was changed") {
        to.write("t/d/small", "LAST");
    }
    SECTION("one is gone") {
        REQUIRE(::unlink(to.path("t/a").c_str()) == 0);
    }
    SECTION("one is a link to what isn't the user's to give") {
        REQUIRE(::unlink(to.path("t/a").c_str()) == 0);
        REQUIRE(::symlink(from.write("first", "first").c_str(), to.path("t/a").c_str()) == 0);
    }
    CHECK_FALSE(filled.sink.spooled(0, always));
}

TEST_CASE("ending the work while a tree is restored leaves nothing") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs = tree(from, to);
    const std::string kept = kept_of(specs);
    const Offer offer{specs, content_of_bytes_in(kept)};
    {
        const int checks = GENERATE(1, 1000);
        Filled filled{specs, offer, from.write("cached", kept), checks};
    }
    CHECK(to.names().empty());
}

}  // namespace stage

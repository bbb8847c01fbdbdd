// Tests that files are taken from the node cache, and verified.
#include "stager/files/sink/source_and_sink.h"
#include "tests/unit/files/cached.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <unistd.h>

using namespace stage;
using test::content_of;
using test::content_of_bytes_in;
using test::Filled;
using test::Offer;
using test::said;
using test::Scratch;
using test::Spec;

TEST_CASE("a cached file is taken from the cache, completely") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = test::noise(2 * kBlockBytes + 9);
    const std::vector<Spec> specs{
        {.source = from.write("a", bytes), .root = to.path(), .below = "a"}};
    const Offer offer{specs, content_of_bytes_in(bytes)};
    Filled filled{specs, offer, from.write("cached", bytes)};
    REQUIRE(said(filled.status) == "ok");
    CHECK(filled.asked == 1);
    CHECK(filled.sink.holds_all());
    CHECK(filled.sink.bytes_filled() == bytes.size());
    REQUIRE(said(filled.sink.finish()) == "ok");
    CHECK(content_of(to.path("a")) == bytes);
    CHECK(filled.sink.cache_candidates(0).empty());
    const auto kept = filled.sink.cache_candidates(9);
    REQUIRE(kept.size() == 1);
    CHECK(kept[0].sum == content_of_bytes_in(bytes).sum);
    CHECK(kept[0].bytes == bytes.size());
    CHECK(::write(kept[0].file.get(), "x", 1) == -1);
}

TEST_CASE("an entry with other content is rejected, and the bytes are received") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = test::noise(2 * kBlockBytes + 9);
    std::string other = bytes;
    other[kBlockBytes + 3] = static_cast<char>(other[kBlockBytes + 3] ^ 1);
    const std::string wrong =
        GENERATE_COPY(values<std::string>({other,
                                           bytes.substr(0, kBlockBytes + 1),
                                           "x",
                                           bytes + 'x',
                                           bytes + std::string(2 * kBlockBytes, '\0')}));
    const std::vector<Spec> specs{
        {.source = from.write("a", bytes), .root = to.path(), .below = "a"}};
    const Offer offer{specs, content_of_bytes_in(bytes)};
    Filled filled{specs, offer, from.write("cached", wrong)};
    REQUIRE(said(filled.status) == "ok");
    CHECK(filled.spoilt == 1);
    CHECK_FALSE(filled.sink.holds_all());
    CHECK(filled.sink.bytes_held() == 0);
    REQUIRE(said(test::deliver(offer.blocks, filled.sink, 3)) == "ok");
    CHECK(content_of(to.path("a")) == bytes);
}

TEST_CASE("a long copy from the cache ends with the work") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = test::noise(4 * kBlockBytes);
    const std::vector<Spec> specs{
        {.source = from.write("a", bytes), .root = to.path(), .below = "a"}};
    const Offer offer{specs, content_of_bytes_in(bytes)};
    {
        Filled filled{specs, offer, from.write("cached", bytes), 2};
        CHECK(filled.checks == 3);
        CHECK(said(filled.status) == "enough");
        CHECK(filled.spoilt == 0);
        CHECK_FALSE(filled.sink.holds_all());
    }
    CHECK(to.names().empty());
}

TEST_CASE("a file at the destination already is not requested") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = test::noise(kBlockBytes + 9);
    const std::vector<Spec> specs{{.source = from.write("a", bytes),
                                   .root = to.path(),
                                   .below = "a",
                                   .existing = Existing::refuse}};
    to.write("a", bytes);
    const Offer offer{specs, content_of_bytes_in(bytes)};
    Filled filled{specs, offer, ""};
    REQUIRE(said(filled.status) == "ok");
    CHECK(filled.asked == 0);
    CHECK(filled.sink.holds_all());
    CHECK(said(filled.sink.finish()) == "ok");
}

TEST_CASE("a different file at the destination is found when the bytes arrive") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = test::noise(kBlockBytes + 9);
    std::string other = bytes;
    other[7] = static_cast<char>(other[7] ^ 1);
    const std::vector<Spec> specs{{.source = from.write("a", bytes),
                                   .root = to.path(),
                                   .below = "a",
                                   .existing = Existing::refuse}};
    to.write("a", other);
    const Offer offer{specs, content_of_bytes_in(bytes)};
    Filled filled{specs, offer, ""};
    CHECK_FALSE(filled.sink.holds_all());
    CHECK_THAT(said(test::deliver(offer.blocks, filled.sink, 3)),
               Catch::Contains("exists already and differs"));
}

TEST_CASE("a file that is not cached arrives with the others") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = test::noise(kBlockBytes + 9);
    const std::vector<Spec> specs{
        {.source = from.write("a", bytes), .root = to.path(), .below = "a"},
        {.source = from.write("b", "bbb"), .root = to.path(), .below = "b"}};
    const Offer offer{specs, content_of_bytes_in(bytes)};
    Filled filled{specs, offer, from.write("cached", bytes)};
    CHECK_FALSE(filled.sink.holds_all());
    CHECK(filled.sink.bytes_filled() == bytes.size());
    REQUIRE(said(test::deliver(offer.blocks, filled.sink, 3)) == "ok");
    CHECK(content_of(to.path("a")) == bytes);
    CHECK(content_of(to.path("b")) == "bbb");
}

TEST_CASE("a source whose node has the file sends it from there, and does not read it") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = test::noise(kBlockBytes + 9);
    const std::vector<Spec> specs{
        {.source = from.write("a", bytes), .root = to.path(), .below = "a"},
        {.source = from.write("b", "bbb"), .root = to.path(), .below = "b"}};
    const Offer offer{specs, content_of_bytes_in(bytes)};
    Filled filled{specs, offer, from.write("cached", bytes)};
    test::Sender sender{specs, filled.sink};
    sender.check_all(offer);
    CHECK(sender.bytes_read() == 3);
    // If the user has changed the copy meanwhile, the file is read instead.
    const std::vector<std::string> names = to.names();
    for (const std::string& name : names) {
        if (content_of(to.path(name)) == bytes) {
            to.write(name, std::string(bytes.size(), 'x'));
        }
    }
    sender.check(1, offer);
    CHECK(sender.bytes_read() == 3 + kBlockBytes);
}

TEST_CASE("an optional file for which there is no room is not copied from the cache",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    const std::string bytes = test::noise(3 * kBlockBytes);
    const std::string cached = from.write("cached", bytes);
    const std::string source = from.write("a", bytes);
    const std::string small = to.path("small");
    const std::string answer = test::in_child([&]() -> std::string {
        if (!test::mount_small(small, kBlockBytes * 3 / 2)) {
            return "no mounts";
        }
        const std::vector<Spec> specs{
            {.source = source, .root = small, .below = "x", .is_optional = true}};
        const Offer offer{specs, content_of_bytes_in(bytes)};
        Filled filled{specs, offer, cached};
        return said(filled.status) + ", " + std::to_string(filled.spoilt) + " spoilt, " +
               std::to_string(filled.sink.bytes_filled()) + " filled, " +
               said(test::deliver(offer.blocks, filled.sink, 3)) + ", " +
               std::to_string(filled.sink.warnings().size()) + " given up";
    });
    CHECK(answer == "ok, 0 spoilt, 0 filled, ok, 1 given up");
}

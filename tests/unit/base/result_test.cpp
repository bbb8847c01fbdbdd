#include "transport/base/result.h"

#include <catch2/catch.hpp>

#include <memory>

using namespace stage;

TEST_CASE("callers extend a message") {
    const Error error = Error::from_errno(Blame::user, "opening /nope/x", ENOENT);
    CHECK(error.sentence() == "opening /nope/x: No such file or directory");
    CHECK(error.cause() == ENOENT);
    const Error risen = Error{error}.within("staging job 42").remedy("check the path");
    CHECK(risen.sentence() ==
          "staging job 42: opening /nope/x: No such file or directory; check the path");
    CHECK(risen.blame() == Blame::user);
    CHECK(risen.cause() == ENOENT);
}

TEST_CASE("a message that is too long keeps its path and its remedy") {
    CHECK(shortened("short", 8) == "short");
    CHECK(shortened("/a/path: why; remedy", 20) == "/a/path: why; remedy");
    CHECK(shortened("/a/path: why; remedy", 19) == "/a/path:...; remedy");
    const std::string umlauts = "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc";
    for (std::size_t most = 8; most < umlauts.size(); ++most) {
        const std::string text = shortened(umlauts, most);
        CAPTURE(most, text);
        CHECK(text.size() <= most);
        CHECK(text.size() >= most - 2);
        CHECK(text.find("...") % 2 == 0);
        CHECK((text.size() - 3) % 2 == 0);
    }
    CHECK(shortened(std::string(20, '\x80'), 9) == "...");  // No characters at all.
}

TEST_CASE("a result holds a value or an error, and hands over what can't be copied") {
    Result<std::unique_ptr<int>> good{std::make_unique<int>(7)};
    REQUIRE(good.ok());
    const std::unique_ptr<int> taken = *std::move(good);
    CHECK(*taken == 7);

    const Result<int> bad{Error{Blame::node, "no"}};
    CHECK_FALSE(bad);
    CHECK(bad.error().sentence() == "no");
    CHECK(bad.error().blame() == Blame::node);
}

TEST_CASE("a status is done, or says why not") {
    const Status done;
    CHECK(done);
    const Status failed{Error{Blame::internal, "broken"}};
    CHECK_FALSE(failed);
    CHECK(failed.error().blame() == Blame::internal);
}

TEST_CASE("blames have names") {
    CHECK(to_string(Blame::user) == "user");
    CHECK(to_string(Blame::node) == "node");
    CHECK(to_string(Blame::internal) == "internal");
}

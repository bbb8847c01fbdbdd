// Tests which members of a directory a pattern of exclude= matches.
#include "stager/spec/exclusion.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

bool excludes(const char* pattern, std::string_view path, bool is_directory = false) {
    return is_excluded({pattern}, path, is_directory);
}

}  // namespace

TEST_CASE("a pattern without a slash matches a name anywhere") {
    CHECK(excludes("*.log", "a.log"));
    CHECK(excludes("**/key", "key"));
    CHECK(excludes("**/key", "a/b/key"));
    CHECK(excludes("**/cache/", "cache", true));
    CHECK(excludes("/data/***", "data", true));
    CHECK(excludes("data/***", "a/data", true));
    CHECK(excludes("/data/***", "data/x"));
    CHECK_FALSE(excludes("/data/***", "a/data", true));
    CHECK(excludes("a**z", "a/b/z"));
    CHECK(excludes("*.log", "a/b/.c.log"));
    CHECK_FALSE(excludes("*.log", "a.log/b"));
    CHECK_FALSE(excludes("log", "a.log"));
    CHECK(excludes("[ab]?", "x/b1"));
}

TEST_CASE("a pattern with a slash matches the end of a path, or a path from the top") {
    CHECK(excludes("b/*.log", "a/b/c.log"));
    CHECK(excludes("b/*.log", "b/c.log"));
    CHECK_FALSE(excludes("b/*.log", "b/d/c.log"));
    CHECK_FALSE(excludes("b/*.log", "ab/c.log"));
    CHECK(excludes("/b/c", "b/c"));
    CHECK_FALSE(excludes("/b/c", "a/b/c"));
    CHECK_FALSE(excludes("/c", "b/c"));
    CHECK(excludes("/b/**.log", "b/d/c.log"));
}

TEST_CASE("a pattern with a slash at its end matches directories only") {
    CHECK(excludes("build/", "a/build", true));
    CHECK_FALSE(excludes("build/", "a/build", false));
    CHECK(excludes("build", "a/build", true));
}

TEST_CASE("a backslash makes a character literal") {
    CHECK(excludes("a\\+b", "a+b"));
    CHECK(excludes("a\\*b", "a*b"));
    CHECK_FALSE(excludes("a\\*b", "axb"));
}

TEST_CASE("an empty or endless pattern is none") {
    CHECK_FALSE(reason_against_exclusion("").empty());
    CHECK_FALSE(reason_against_exclusion("//").empty());
    CHECK_FALSE(reason_against_exclusion(std::string(1025, 'a')).empty());
    CHECK(reason_against_exclusion("*").empty());
    CHECK_FALSE(is_excluded({}, "a", false));
}

}  // namespace stage

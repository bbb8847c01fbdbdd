// Tests the usage texts.
#include "stager/cli/common/usage.h"

#include "stager/cli/common/array_task.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace stage;

namespace {

bool asks(std::vector<std::string> words) {
    std::vector<char*> pointers;
    pointers.reserve(words.size());
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    return asks_for_help(pointers);
}

}  // namespace

TEST_CASE("all of the usage is that of the commands, line below line") {
    const std::string all = usage();
    CHECK(all.find("usage: stagecast push ") == 0);
    for (const char* const command :
         {"push", "status", "explain", "cache", "prolog", "doctor"}) {
        const std::string own = usage_of(command);
        CAPTURE(command);
        CHECK(own.find("usage: stagecast " + std::string{command} + " ") == 0);
        CHECK(all.find(own.substr(7)) != std::string::npos);
    }
    CHECK(usage_of("nonsense").empty());
    CHECK(usage_of("push").find("--resume") != std::string::npos);
}

TEST_CASE("no line of the usage is wider than a terminal") {
    const std::string all = usage();
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = all.find('\n', at);
        CAPTURE(all.substr(at, end - at));
        CHECK(end - at <= 80);
        at = end + 1;
    }
}

TEST_CASE("help is asked for by --help and -h, but not behind --") {
    CHECK(asks({"--help"}));
    CHECK(asks({"-w", "n0", "-h"}));
    CHECK_FALSE(asks({}));
    CHECK_FALSE(asks({"42"}));
    CHECK_FALSE(asks({"--", "--help"}));
}

TEST_CASE("a task of an array is two numbers") {
    CHECK(is_array_task("27_1"));
    for (const char* const other : {"27", "27_", "_1", "27_x", "27_1_2", "27_[1-3]", ""}) {
        CAPTURE(other);
        CHECK_FALSE(is_array_task(other));
    }
}

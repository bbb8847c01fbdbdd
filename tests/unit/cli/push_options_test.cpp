#include "stager/cli/push/push_options.h"

#include "stager/spec/spec_list.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace stage;

namespace {

Result<PushOptions> parsed(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    return parse_push_options(pointers, "/here");
}

}  // namespace

TEST_CASE("a push needs nodes, one source and one absolute destination") {
    const auto options = parsed({"-w", "n[0-3]", "--rate=1gbit", "--timeout=60", "a b", "/i/"});
    REQUIRE(options);
    CHECK(options->node_list == "n[0-3]");
    CHECK(options->source == "/here/a b");
    CHECK(options->rate == 1'000'000'000);
    CHECK(options->timeout_s == 60);
    const auto specs = specs_of(*options);
    REQUIRE(specs);
    CHECK(options_in(*specs).timeout_s == 60);
    const auto spec = parse_serialized(*specs);
    REQUIRE(spec);
    CHECK(spec->front().destination == "/i/");
    CHECK(spec->front().existing == Existing::overwrite);
    CHECK(spec->front().is_durable);
}

TEST_CASE("a push may be carried by a launcher") {
    const auto options = parsed({"-w", "n1", "--launcher=clush", "--interface=ib0", "a", "/b"});
    REQUIRE(options);
    CHECK(options->launcher == Launcher::clush);
    CHECK(options->interface == "ib0");
    CHECK(options->mode == PushMode::push);
}

TEST_CASE("--resume continues an interrupted push") {
    for (const bool is_resumed : {false, true}) {
        const auto options =
            parsed({is_resumed ? "--resume" : "--json", "-w", "n1", "a", "/b"});
        REQUIRE(options);
        const auto specs = specs_of(*options);
        REQUIRE(specs);
        CHECK(parse_serialized(*specs)->front().is_resumable == is_resumed);
    }
}

TEST_CASE("wrong usage of push is reported") {
    CHECK_FALSE(parsed({"a", "/b"}));
    CHECK_FALSE(parsed({"-w", "n1", "a", "b"}));
    CHECK_FALSE(parsed({"-w", "n1", "a"}));
    CHECK_FALSE(parsed({"-w", "n1", "a", "/b", "/c"}));
    CHECK_FALSE(parsed({"-w"}));
    CHECK_FALSE(parsed({"-w", "n1", "--rate=7", "a", "/b"}));
    CHECK_FALSE(parsed({"-w", "n1", "--timeout=0", "a", "/b"}));
    CHECK_FALSE(parsed({"-w", "n1", "--frob", "a", "/b"}));
    CHECK_FALSE(parsed({"-w", "@/no/such/file", "a", "/b"}));
    CHECK_FALSE(parsed({"-w", "n1", "--launcher=rsh", "a", "/b"}));
    CHECK_FALSE(parsed({"-w", "n1", "--launcher=none", "a", "/b"}));
    CHECK_FALSE(parsed({"-w", "n1", "--launcher=ssh", "--resume", "a", "/b"}));
    CHECK(parsed({"-w", "n1", "--launcher=ssh", "--verify", "a", "/b"}));
    CHECK(parsed({"-w", "n1", "--", "-a", "/b"})->source == "/here/-a");
}

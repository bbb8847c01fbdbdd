#include "stager/spec/spec_list.h"

#include "stager/control/message.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

std::vector<StageSpec> samples() {
    return {{.source = "/data/in.dat", .destination = ""},
            {.source = "/data/a b,c;d%e\n\x7f\\:", .destination = "x\ty"},
            {.source = "/data/ü", .destination = "/scratch/x", .existing = Existing::keep},
            {.source = "/n", .destination = "/scratch/n", .existing = Existing::newer},
            {.source = "/list", .destination = "", .is_list = true, .is_optional = true},
            {.source = "/w",
             .destination = "/scratch/w",
             .existing = Existing::overwrite,
             .is_temporary = true,
             .is_durable = true,
             .is_late = true},
            {.source = "/r", .destination = "/scratch/r", .is_resumable = true}};
}

}  // namespace

TEST_CASE("a list of specs comes back as it was sent") {
    const auto specs = samples();
    const auto line = serialize(specs);
    REQUIRE(line);
    for (const char c : *line) {
        CHECK(static_cast<unsigned char>(c) > ' ');
        CHECK(c != '\x7f');
    }
    const auto back = parse_serialized(*line);
    REQUIRE(back);
    CHECK(*back == specs);
}

TEST_CASE("a list cut anywhere is refused, or is a shorter list of the same") {
    const auto specs = samples();
    const auto line = serialize(specs);
    REQUIRE(line);
    for (std::size_t length = 0; length < line->size(); ++length) {
        const auto back = parse_serialized(line->substr(0, length));
        if (!back) {
            CHECK_FALSE(back.error().sentence().empty());
            continue;
        }
        CHECK(back->size() <= specs.size());
        for (const StageSpec& spec : *back) {
            CHECK(spec.source.starts_with('/'));
        }
    }
}

TEST_CASE("whatever is in the environment, a list is ours or refused") {
    const auto line = serialize(samples());
    REQUIRE(line);
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        Prng prng{seed};
        CAPTURE(seed);
        std::string forged = *line;
        for (int i = 0; i < 3; ++i) {
            forged[prng.below(forged.size())] = static_cast<char>(prng.below(256));
        }
        const auto back = parse_serialized(forged);
        if (back) {
            const auto again = serialize(*back);
            REQUIRE(again);
            CHECK(*parse_serialized(*again) == *back);
        }
    }
}

TEST_CASE("known forgeries are refused with an error message") {
    for (const char* const forged :
         {"",           "none",        "given",       "1",         "1;",
          "2;-,/a,",    "1;-,a,",      "1;-,,",       "1;x,/a,",   "1;-z,/a,",
          "1;-,/a",     "1;-,/a,../b", "1;-,/a,b,//", "1;-,/a%,",  "1;-,/a%0,",
          "1;-,/a%00,", "1;-,/a%zz,",  "1;-,/a b,",   "1;-,/a\n,", "1;-,/a,x;-,/b,x",
          "1;kl,/a,"}) {
        const auto back = parse_serialized(forged);
        INFO(forged);
        if (std::string_view{forged} == "1;-,/a") {
            CHECK(back);  // an empty destination may lose its comma
        } else {
            CHECK_FALSE(back);
        }
    }
}

TEST_CASE("a list of files has no flags but optional and late") {
    for (const SpecSwitch& one : kSpecSwitches) {
        CAPTURE(one.letter);
        const bool may_have =
            std::string_view{"loa"}.find(one.letter) != std::string_view::npos;
        CHECK(parse_serialized(std::string{"1;-l"} + one.letter + ",/list,").ok() == may_have);
    }
    for (const char existing : {'k', 'n', 'w'}) {
        CHECK_FALSE(parse_serialized(std::string{"1;"} + existing + "l,/list,"));
    }
}

TEST_CASE("200 KB of specs are refused on both sides") {
    std::vector<StageSpec> specs;
    for (int i = 0; i < 250; ++i) {
        specs.push_back({.source = "/data/" + std::string(800, 'x') + std::to_string(i),
                         .destination = std::to_string(i)});
    }
    const auto line = serialize(specs);
    REQUIRE_FALSE(line);
    CHECK_THAT(line.error().sentence(),
               Catch::Contains("at most 32768") && Catch::Contains("@LIST"));
    CHECK_FALSE(parse_serialized("1;-,/" + std::string(200'000, 'x') + ","));
}

TEST_CASE("more specs than a stage takes are refused on both sides") {
    std::vector<StageSpec> specs;
    std::string forged = "1";
    for (std::size_t i = 0; i <= kMaxSpecs; ++i) {
        specs.push_back({.source = "/" + std::to_string(i), .destination = ""});
        forged += ";-,/" + std::to_string(i) + ",";
    }
    const auto line = serialize(specs);
    REQUIRE_FALSE(line);
    CHECK_THAT(line.error().sentence(), Catch::Contains("257 files"));
    CHECK_FALSE(parse_serialized(forged));
    specs.pop_back();
    REQUIRE(serialize(specs));
    CHECK(parse_serialized(*serialize(specs))->size() == kMaxSpecs);
}

TEST_CASE("equal specs are one") {
    const StageSpec spec{.source = "/in/a"};
    const StageSpec late{.source = "/in/a", .is_late = true};
    const StageSpec other{.source = "/in//./a", .destination = "./a"};
    const auto line = serialize(std::vector{spec, late, other, spec});
    REQUIRE(line);
    CHECK(*parse_serialized(*line) == std::vector{spec});
    const StageSpec temporary{.source = "/in/a", .is_temporary = true};
    CHECK_THAT(serialize(std::vector{spec, temporary}).error().sentence(),
               Catch::Contains("have one destination"));
}

TEST_CASE("a job's options travel in front of its specs") {
    const auto specs = samples();
    for (const StageOptions& options : std::vector<StageOptions>{
             {},
             {.timeout_s = 1},
             {.timeout_s = kMaxStageTimeoutS, .is_verbose = true},
             {.is_verbose = true, .is_no_kill = true},
             {.umask = 0},
             {.umask = 0777},
             {.has_container = true, .umask = 077, .line = 7, .work_dir = "/home/a, b"}}) {
        const auto line = serialize(specs, options);
        REQUIRE(line);
        CHECK(options_in(*line) == options);
        const auto back = parse_serialized(*line);
        REQUIRE(back);
        CHECK(*back == specs);
    }
}

TEST_CASE("forged options are refused, and are none") {
    for (const char* const head : {"1,",
                                   "1,x",
                                   "1,t",
                                   "1,t0",
                                   "1,t-1",
                                   "1,t86401",
                                   "1,t1x",
                                   "1,tt1",
                                   "1,t99999999999",
                                   "1,u",
                                   "1,u8",
                                   "1,u1000",
                                   "1,u-1",
                                   "1,u000077",
                                   "1,vv",
                                   "1,cc"}) {
        CAPTURE(head);
        const std::string line = std::string{head} + ";-,/a,";
        if (std::string_view{head} == "1,") {
            CHECK(parse_serialized(line));  // an empty list of options is none
        } else {
            CHECK_FALSE(parse_serialized(line));
        }
        CHECK(options_in(line) == StageOptions{});
    }
}

TEST_CASE("a directory's flags and patterns arrive") {
    const StageSpec spec{.source = "/a",
                         .is_following = true,
                         .skips_devices = true,
                         .excludes = {"*,;%", "/b c/"}};
    const auto line = serialize(std::array{spec});
    REQUIRE(line);
    CHECK(*line == "1;-fs,/a,,*%2c%3b%25,/b%20c/");
    const auto specs = parse_serialized(*line);
    REQUIRE(specs);
    CHECK(specs->at(0) == spec);
    CHECK_FALSE(parse_serialized("1;-,/a,b,%0"));
    CHECK_FALSE(parse_serialized("1;-,/a,b,//"));
}

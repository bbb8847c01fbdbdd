#include "stager/spec/destination.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace stage;

namespace {

StageSpec spec(std::string source, std::string destination) {
    return {.source = std::move(source), .destination = std::move(destination)};
}

std::string where(std::string destination, std::string source = "/data/in.dat") {
    const auto place = destination_of(spec(std::move(source), destination));
    INFO(destination);
    REQUIRE(place);
    return placed(*place, "/stage/42");
}

std::string refusal(std::string destination, std::string source = "/data/in.dat") {
    const auto place = destination_of(spec(std::move(source), destination));
    INFO(destination);
    REQUIRE_FALSE(place);
    CHECK(place.error().blame() == Blame::user);
    return place.error().sentence();
}

std::string conflict(const std::vector<StageSpec>& specs) {
    const Status distinct = check_distinct(specs);
    REQUIRE_FALSE(distinct);
    return distinct.error().sentence();
}

}  // namespace

TEST_CASE("no destination is the source's name in the stage directory") {
    CHECK(where("") == "/stage/42/in.dat");
    CHECK(where(".") == "/stage/42/in.dat");
    CHECK(where("./") == "/stage/42/in.dat");
    CHECK(where("", "/data/./a\nb") == "/stage/42/a\nb");
}

TEST_CASE("a relative destination lies below the stage directory") {
    CHECK(where("x") == "/stage/42/x");
    CHECK(where("a//b/./c") == "/stage/42/a/b/c");
    CHECK(where("dir/") == "/stage/42/dir/in.dat");
    CHECK(where("...") == "/stage/42/...");
}

TEST_CASE("an archive that is unpacked is called so without its ending") {
    const auto unpacked = [](const char* source, const char* destination) {
        StageSpec one = spec(source, destination);
        one.is_unpacked = true;
        return placed(*destination_of(one), "/stage/42");
    };
    CHECK(unpacked("/data/env.tar.gz", "") == "/stage/42/env");
    CHECK(unpacked("/data/env.tar", "d/") == "/stage/42/d/env");
    CHECK(unpacked("/data/env.1.tzst", "/scratch/") == "/scratch/env.1");
    CHECK(unpacked("/data/env.zip", "other.zip") == "/stage/42/other.zip");
    CHECK(unpacked("/data/ENV.TAR.GZ", "") == "/stage/42/ENV");
    CHECK(unpacked("/data/Env.Zip", "") == "/stage/42/Env");
    CHECK(unpacked("/data/env.gz", "") == "/stage/42/env.gz");
    CHECK(unpacked("/data/.tar.gz", "") == "/stage/42/.tar.gz");
    CHECK(unpacked("/data/...tar", "") == "/stage/42/...tar");
}

TEST_CASE("an absolute destination is taken as it is") {
    CHECK(where("/scratch//u/./x") == "/scratch/u/x");
    CHECK(where("/scratch/") == "/scratch/in.dat");
    CHECK(where("/") == "/in.dat");
    CHECK(where("/scratch/.stagecast") == "/scratch/.stagecast");
}

TEST_CASE("no destination goes up, and none is stagecast's own") {
    for (const char* const up :
         {"..", "../x", "a/../b", "a/..", "/a/../b", "/..", "a/../../x"}) {
        CHECK_THAT(refusal(up), Catch::Contains("goes up by '..'"));
    }
    CHECK_THAT(refusal(".stagecast"), Catch::Contains("stagecast's own"));
    CHECK_THAT(refusal(".stagecast/files"), Catch::Contains("stagecast's own"));
    CHECK_THAT(refusal("./step.0/x"), Catch::Contains("stagecast's own"));
    CHECK_THAT(refusal("", "/data/step.17"), Catch::Contains("stagecast's own"));
    CHECK(where("step.") == "/stage/42/step.");
    CHECK(where("step.x") == "/stage/42/step.x");
    CHECK(where("sub/.stagecast") == "/stage/42/sub/.stagecast");
}

TEST_CASE("impossible names are refused before they reach a disk") {
    CHECK_THAT(refusal(std::string(256, 'x')), Catch::Contains("longer than 255 bytes"));
    CHECK(where(std::string(255, 'x')).size() == 10 + 255);
    CHECK_THAT(refusal("", "/"), Catch::Contains("no name"));
    CHECK_THAT(refusal("", "/data/.."), Catch::Contains("no name"));
    CHECK(where("", "/data/dir/") == "/stage/42/dir");
    CHECK(where("", "/data/dir/.") == "/stage/42/dir");
    CHECK(where("name", "/data/..") == "/stage/42/name");
}

TEST_CASE("two specs never write one path") {
    CHECK(check_distinct(std::vector{spec("/a/x", ""), spec("/b/y", "")}));
    CHECK_THAT(conflict({spec("/a/x", ""), spec("/b/x", "")}),
               Catch::Contains("'/a/x' and '/b/x' have one destination, 'x'"));
    CHECK_THAT(conflict({spec("/a/x", "d/./x"), spec("/b/x", "d//")}),
               Catch::Contains("one destination"));
    CHECK_THAT(conflict({spec("/a/x", "d"), spec("/b/y", "d/e")}),
               Catch::Contains("conflict: one is inside"));
    CHECK_THAT(conflict({spec("/b/y", "/d/e/f"), spec("/a/x", "/d")}),
               Catch::Contains("conflict: one is inside"));
    CHECK(check_distinct(std::vector{spec("/a/x", "d"), spec("/b/y", "de"), spec("/c", "/d")}));
}

TEST_CASE("a list has no destination of its own") {
    StageSpec list = spec("/a/list", "");
    list.is_list = true;
    CHECK(destination_of(list)->path.empty());
    CHECK(check_distinct(std::vector{list, list}));
}

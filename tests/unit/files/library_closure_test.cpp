// Which libraries does a program need?
//
// This program itself is asked about; what RPATHs do is shown on the emulated cluster.
#include "stager/files/library_closure.h"

#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::Scratch;

constexpr const char* kSelf = "/proc/self/exe";

std::string refusal(const std::string& path, const SystemLibraries& system = {}) {
    const auto libraries = library_closure(path, "", system);
    return libraries ? "ok" : libraries.error().sentence();
}

}  // namespace

TEST_CASE("what lies in the system's directories is taken for granted") {
    const auto libraries = library_closure(kSelf, "");
    REQUIRE(libraries);
    CHECK(libraries->empty());
}

TEST_CASE("the system's list says where the others are, and what these need in turn") {
    SystemLibraries nothing_is_systems;
    nothing_is_systems.directories = {};
    const auto libraries = library_closure(kSelf, "", nothing_is_systems);
    REQUIRE(libraries);
    const auto has = [&](std::string_view name) {
        return std::ranges::count(*libraries, name, &Library::name);
    };
    CHECK(has("libc.so.6") == 1);
    CHECK(has("libxxhash.so.0") == 1);
    for (const Library& one : *libraries) {
        CHECK(one.path.ends_with('/' + one.name));
        CHECK(::access(one.path.c_str(), R_OK) == 0);
    }
}

TEST_CASE("LD_LIBRARY_PATH comes before the system's list") {
    const Scratch scratch;
    SystemLibraries nothing_is_systems;
    nothing_is_systems.directories = {};
    const auto all = library_closure(kSelf, "", nothing_is_systems);
    REQUIRE(all);
    const auto xxhash = std::ranges::find(*all, "libxxhash.so.0", &Library::name);
    REQUIRE(xxhash != all->end());
    const std::string copy = scratch.write("libxxhash.so.0", test::content_of(xxhash->path));
    const auto libraries = library_closure(kSelf, ":relative:/none:" + scratch.path());
    REQUIRE(libraries);
    REQUIRE(libraries->size() == 1);
    CHECK(libraries->front().path == copy);
}

TEST_CASE("what has no libraries of ours, and what misses one, is told") {
    const Scratch scratch;
    CHECK_THAT(refusal(scratch.write("script", "#!/bin/sh\n")),
               Contains("/script: is a script"));
    CHECK_THAT(refusal(scratch.write("text", "hello")), Contains("/text: is no program"));
    CHECK_THAT(refusal(scratch.write("empty", "")), Contains("/empty: is no program"));
    CHECK_THAT(refusal(scratch.path()), Contains("is no program"));
    CHECK_THAT(refusal(scratch.path("none")), Contains("No such file"));
    std::string bytes = test::content_of(kSelf);
    CHECK_THAT(refusal(scratch.write("cut", bytes.substr(0, 40))),
               Contains("/cut: is a damaged program"));
    CHECK_THAT(refusal(scratch.write("cut", bytes.substr(0, 4096))), Contains("is a damaged"));
    bytes[4] = 1;
    CHECK_THAT(refusal(scratch.write("32", bytes)), Contains("/32: is a 32-bit program"));
    CHECK_THAT(refusal(kSelf, {.directories = {}, .list = "/none"}),
               Contains("the library ") && Contains("is not found"));
}

}  // namespace stage

// Tests that a verdict has the directories of libraries behind the files, as many as fit.
#include "stager/daemon/jobs/library_directories.h"

#include <catch2/catch.hpp>

namespace stage {

TEST_CASE("the directories that the worker named stand behind the paths") {
    Verdict verdict{.state = VerdictState::ok,
                    .stage_dir = "/stage/7",
                    .paths = {"/stage/7/data", "/stage/7/prog", ""}};
    add_library_directories(verdict, {"/stage/7/prog_libs/", "/tmp/no_directory"});
    CHECK(verdict.paths == std::vector<std::string>{
                               "/stage/7/data", "/stage/7/prog", "", "/stage/7/prog_libs/"});
}

TEST_CASE("a verdict that is full stays as it is") {
    Verdict verdict{.state = VerdictState::ok, .stage_dir = "/stage/7"};
    for (std::size_t i = 0; i < kMaxSpecs; ++i) {
        verdict.paths.push_back("/stage/7/" + std::to_string(i));
    }
    add_library_directories(verdict, {"/stage/7/0_libs/"});
    CHECK(verdict.paths.size() == kMaxSpecs);
}

}  // namespace stage

// Does a verdict tell the directories of libraries, behind the files and no more of them than
// fit?
#include "stager/daemon/library_directories.h"

#include "stager/control/spec_list.h"

#include <catch2/catch.hpp>

#include <array>

namespace stage {

TEST_CASE("the programs' directories stand behind the paths") {
    StageSpec program{.source = "/shared/prog"};
    program.is_with_libraries = true;
    StageSpec absent{.source = "/shared/absent"};
    absent.is_with_libraries = true;
    const std::array specs{StageSpec{.source = "/shared/data"}, program, absent};
    Verdict verdict{.state = VerdictState::ok,
                    .stage_dir = "/stage/7",
                    .paths = {"/stage/7/data", "/stage/7/prog", ""}};
    add_library_directories(verdict, *serialize(specs));
    CHECK(verdict.paths == std::vector<std::string>{
                               "/stage/7/data", "/stage/7/prog", "", "/stage/7/prog_libs/"});
    Verdict failed{.state = VerdictState::failed};
    add_library_directories(failed, *serialize(specs));
    CHECK(failed.paths.empty());
}

TEST_CASE("a verdict that is full stays as it is") {
    std::vector<StageSpec> specs(kMaxSpecs, StageSpec{.source = "/shared/prog"});
    Verdict verdict{.state = VerdictState::ok, .stage_dir = "/stage/7"};
    for (std::size_t i = 0; i < kMaxSpecs; ++i) {
        specs[i].destination = std::to_string(i);
        specs[i].is_with_libraries = true;
        verdict.paths.push_back("/stage/7/" + specs[i].destination);
    }
    const auto line = serialize(specs);
    REQUIRE(line);
    add_library_directories(verdict, *line);
    CHECK(verdict.paths.size() == kMaxSpecs);
}

}  // namespace stage

// A client's world for the tests of what happens at submission: a few files, a false Slurm.
#pragma once

#include "spank/host/names.h"
#include "spank/submit/submit_side.h"
#include "stager/spec/spec_list.h"
#include "tests/unit/scratch.h"
#include "tests/unit/spank/fake_host.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace stage {

/// A directory with a few files, and the client's working directory.
struct SubmitWorld {
    SubmitWorld() {
        for (const char* const name : {"a", "b", "with:colon"}) {
            scratch.write(name, "content");
        }
        scratch.directory("dir", 0755);
        scratch.link("a", "link");
        ::mkfifo((directory + "/fifo").c_str(), 0600);
    }

    [[nodiscard]] FakeHost host(Context context) const {
        FakeHost made{context};
        made.directory = directory;
        made.process["SLURM_UMASK"] = "0022";
        return made;
    }
    [[nodiscard]] SubmitSide side() const {
        return SubmitSide{Arguments{.conf_path = directory + "/stagecast.conf"}};
    }

    Scratch scratch;
    std::string directory = scratch.path();
};

inline std::vector<StageSpec> handed(const FakeHost& host) {
    const auto specs = parse_serialized(host.handed.at(kHandedName));
    REQUIRE(specs);
    return *specs;
}

inline std::string refusal(SubmitSide& side,
                           FakeHost& host,
                           const std::string& option = "--stage-file: ") {
    const Status done = side.on_options_parsed(host);
    REQUIRE_FALSE(done);
    CHECK(host.handed.empty());
    CHECK_FALSE(host.process.contains(kStepSpecs));
    CHECK_THAT(done.error().sentence(), Catch::StartsWith(option));
    return done.error().sentence();
}

}  // namespace stage

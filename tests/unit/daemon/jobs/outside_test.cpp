// Tests that the cleanup list has the paths that a stage uses outside its directory.
#include "stager/daemon/jobs/outside.h"

#include "stager/removal/cleanup_entry.h"
#include "stager/spec/spec_list.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

namespace stage {
namespace {

using Texts = std::vector<std::string>;

std::string specs_of(const StageSpec& spec) {
    return *serialize(std::span{&spec, 1});
}

}  // namespace

TEST_CASE("the paths outside its directory that a stage uses are taken from its specs") {
    StageSpec spec;
    spec.source = "/home/a/x";
    CHECK(outside_of(specs_of(spec)).empty());
    spec.destination = "below/x";
    CHECK(outside_of(specs_of(spec)).empty());
    spec.destination = "/tmp//d/";
    spec.is_with_libraries = true;
    CHECK(outside_of(specs_of(spec)) == Texts{"/tmp/d/x", "/tmp/d/x_libs"});
    spec = StageSpec{.source = "/home/a/list", .is_list = true};
    CHECK(outside_of(specs_of(spec)) == Texts{"/"});
    CHECK(outside_of("no specs").empty());
}

TEST_CASE("a stage's cleanup list has what it asks for before its worker says a word") {
    const test::Scratch place;
    const UniqueFd root{::open(place.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    StageRequest request;
    request.key = {.job_id = 42, .step_id = 3, .restart = 0};
    request.uid = 2001;
    request.gid = 2002;
    const auto content = [&] {
        return split_cleanup_list(
            test::content_of(place.path(".stagecast/2001.2002.42.step.3")));
    };
    OutsideFiles files;
    request.specs = specs_of({.source = "/home/a/x"});
    REQUIRE(files.begin(root.get(), request));
    CHECK(files.on_message(WorkerLeft{{"/tmp/.x"}}));
    CHECK(place.names().empty());  // Nothing outside: no list.
    request.specs = specs_of({.source = "/home/a/list", .is_list = true});
    REQUIRE(files.begin(root.get(), request));
    CHECK(content() == Texts{"U/"});
    REQUIRE(files.on_message(WorkerLeft{{"U/tmp/x", "/tmp/.x"}}));
    REQUIRE(files.on_message(WorkerOutcome{}));  // It failed: it may have anything.
    CHECK(content() == Texts{"U/", "U/tmp/x", "/tmp/.x"});
    WorkerOutcome good;
    good.state = VerdictState::ok;
    REQUIRE(files.on_message(good));
    CHECK(content() == Texts{"U/", "U/tmp/x", "/tmp/.x", kAllUsesListed});
}

TEST_CASE("a cleanup list that would be too long is the user's error") {
    const test::Scratch place;
    const UniqueFd root{::open(place.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    auto list = CleanupList::open(root.get(), cleanup_list_name(1, 1, {"42"}));
    REQUIRE(list);
    const std::string entry(1U << 20U, 'x');
    for (int i = 0; i < 63; ++i) {
        REQUIRE(list->add({entry}));
    }
    const Status full = list->add({entry});
    REQUIRE_FALSE(full);
    CHECK(full.error().blame() == Blame::user);
    CHECK(list->add({"short"}));
}

}  // namespace stage

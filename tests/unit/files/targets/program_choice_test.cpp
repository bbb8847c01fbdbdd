// Tests that versions of a program and of its libraries are never mixed, and that a program is
// linked to its libraries.
#include "stager/files/targets/program_choice.h"

#include "stager/files/targets/program_links.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/files/sink/fake_target.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

namespace stage {

using test::put_fake;
using test::Scratch;

namespace {

void set_mtime(const std::string& path, std::int64_t seconds) {
    const struct timespec times[2] = {{.tv_sec = seconds, .tv_nsec = 0},
                                      {.tv_sec = seconds, .tv_nsec = 0}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

/// A program "p" and a library "l" of second 100, to be staged to `to`.
struct Program {
    explicit Program(Existing existing) : orders(2), manifest{test::manifest_of({1, 1})} {
        for (std::size_t i = 0; i < 2; ++i) {
            manifest.entries[i].mtime.seconds = 100;
            orders[i].is_of_program = true;
            orders[i].is_library = i == 1;
            orders[i].target.existing = existing;
            orders[i].target.place = {.root = to.path(), .below = i == 1 ? "l" : "p"};
        }
    }
    void there(const std::string& name, std::int64_t seconds) const {
        set_mtime(to.write(name, "x"), seconds);
    }
    [[nodiscard]] Existing library_after() {
        choose_programs(manifest, orders);
        return orders[1].target.existing;
    }
    Scratch to;
    std::vector<SinkOrder> orders;
    Manifest manifest;
};

}  // namespace

TEST_CASE("newer leaves a program whose library is newer, with all of it") {
    Program program{Existing::newer};
    program.there("p", 50);
    program.there("l", 150);
    CHECK(program.library_after() == Existing::keep);
    CHECK(program.orders[0].target.existing == Existing::keep);
}

TEST_CASE("newer replaces a program that is as new, but lacks a library") {
    Program program{Existing::newer};
    program.there("p", 100);
    CHECK(program.library_after() == Existing::newer);
    CHECK(program.orders[0].target.is_newer);
    CHECK(program.orders[1].target.is_newer);
}

TEST_CASE("keep leaves the libraries only where the program is") {
    Program without{Existing::keep};
    without.there("l", 150);
    CHECK(without.library_after() == Existing::newer);
    CHECK(without.orders[0].target.existing == Existing::keep);
    Program with{Existing::keep};
    with.there("p", 50);
    CHECK(with.library_after() == Existing::keep);
}

TEST_CASE("a program is linked once to the directory of its libraries") {
    const Scratch stage;
    const Scratch node;
    test::Deeds deeds;
    SinkTargets targets;
    targets.resize(3);
    const test::FakeTarget::Script script{.lies_in = node.path()};
    const SinkOrder library{.target = {}, .is_library = true, .is_of_program = true};
    put_fake(targets, 0, node.path("p"), deeds, {.target = {}, .is_of_program = true}, script);
    put_fake(targets, 1, node.write("libs/a", "x"), deeds, library, script);
    put_fake(targets, 2, node.write("libs/b", "y"), deeds, library, script);
    ProgramLinks links{stage.path()};
    REQUIRE(test::said(links.link(targets)) == "ok");
    REQUIRE(links.paths().size() == 1);
    const std::string& path = links.paths()[0];
    const std::string origin = "$ORIGIN/";
    REQUIRE(path.ends_with(origin));
    const std::string found =
        path.substr(0, path.size() - origin.size()) + node.path("").substr(1) + "/a";
    CHECK(test::content_of(found) == "x");
    ProgramLinks without_directory{""};
    CHECK(test::said(without_directory.link(targets)) == "ok");
    CHECK(without_directory.paths().empty());
}

}  // namespace stage

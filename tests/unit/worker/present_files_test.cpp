// Does a push find out which files its destination has already, and is any difference one?
#include "stager/worker/staging/present_files.h"

#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

/// A source and, below a push root, a copy of it with the same attributes.
struct PushedFile {
    test::Scratch scratch;
    std::string source = scratch.path() + "/source";
    std::string root = scratch.path() + "/root";
    std::string copy = root + "/copy";

    PushedFile() {
        scratch.write("source", "one and the same");
        REQUIRE(::mkdir(root.c_str(), 0755) == 0);
        scratch.write("root/copy", "one and the same");
        stamp(source);
        stamp(copy);
    }

    static void stamp(const std::string& path, mode_t mode = 0644) {
        const timespec times[2]{{1'000'000'000, 0}, {1'000'000'000, 5'000}};
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    }

    [[nodiscard]] Orders orders() const {
        const auto spec = parse_spec(source + ':' + copy);
        REQUIRE(spec);
        const std::vector<StageSpec> specs{*spec};
        auto parsed = Orders::parse(*serialize(specs),
                                    {.stage_dir = scratch.path() + "/stage",
                                     .dest_subdir = "",
                                     .dest_roots = {root},
                                     .work_dir = "",
                                     .traits = kPushTraits,
                                     .keeps_owners = false});
        REQUIRE(parsed);
        return *std::move(parsed);
    }

    /// What a preflight check finds; `until` is when it must have read it.
    [[nodiscard]] PresentFiles found(Instant until = Instant::max()) const {
        const Orders here = orders();
        auto list = here.sources();
        REQUIRE(list);
        auto opened = FileSource::open(*list, 0, {}, 0);
        REQUIRE(opened);
        auto interrupts = Interrupts::make();
        REQUIRE(interrupts);
        return present_files(here, (*opened)->manifest_bytes(), false, *interrupts, until);
    }
};

TEST_CASE("a copy with the source's attributes is read, and its digest says the rest",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const PushedFile pushed;
    const PresentFiles same = pushed.found();
    CHECK(same.bytes == 16);
    REQUIRE_FALSE(same.digest.empty());
    pushed.scratch.write("root/copy", "one and the sane");
    PushedFile::stamp(pushed.copy);
    const PresentFiles other = pushed.found();
    CHECK_FALSE(other.digest.empty());
    CHECK(other.digest != same.digest);
}

TEST_CASE("a copy on a file system that keeps whole seconds is present", "[root]") {
    if (!is_root()) {
        return;
    }
    const PushedFile pushed;
    const timespec times[2]{{1, 0}, {1'000'000'000, 0}};
    REQUIRE(::utimensat(AT_FDCWD, pushed.copy.c_str(), times, 0) == 0);
    CHECK_FALSE(pushed.found().digest.empty());
}

TEST_CASE("what differs without reading, or is no file of root's own, is not present",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const PushedFile pushed;
    SECTION("its time") {
        const timespec times[2]{{1, 0}, {1'000'000'000, 6'000}};
        REQUIRE(::utimensat(AT_FDCWD, pushed.copy.c_str(), times, 0) == 0);
    }
    SECTION("its permission bits") {
        PushedFile::stamp(pushed.copy, 0600);
    }
    SECTION("its size") {
        pushed.scratch.write("root/copy", "one");
        PushedFile::stamp(pushed.copy);
    }
    SECTION("its owner") {
        REQUIRE(::chown(pushed.copy.c_str(), 2001, 2001) == 0);
    }
    SECTION("it is a link to such a file") {
        REQUIRE(::rename(pushed.copy.c_str(), (pushed.root + "/real").c_str()) == 0);
        REQUIRE(::symlink("real", pushed.copy.c_str()) == 0);
    }
    SECTION("it is not there") {
        REQUIRE(::unlink(pushed.copy.c_str()) == 0);
    }
    SECTION("the source has a set-user-id bit, which this push would refuse") {
        PushedFile::stamp(pushed.source, 04755);
        PushedFile::stamp(pushed.copy, 04755);
    }
    CHECK(pushed.found().digest.empty());
}

TEST_CASE("a copy that can't be read in time is sent again", "[root]") {
    if (!is_root()) {
        return;
    }
    const PushedFile pushed;
    CHECK(pushed.found(read_clock() - std::chrono::seconds{1}).digest.empty());
}

}  // namespace
}  // namespace stage

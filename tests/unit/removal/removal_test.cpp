// Tests that a cleanup list removes what it names, and no file that other stages use.

#include "stager/removal/cleanup_entry.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace stage {
namespace {

using test::follow_list;
using test::removal_there;
using test::Scratch;
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("an entry of a cleanup list says what it is") {
    const CleanupEntry plain = parse_cleanup_entry("/tmp/x");
    CHECK(plain.kind == CleanupEntry::Kind::remove);
    CHECK((plain.path == "/tmp/x" && plain.identity.empty() && !plain.is_directory));
    const CleanupEntry tree = parse_cleanup_entry("12.3.4:/tmp/with:colon/");
    CHECK((tree.path == "/tmp/with:colon" && tree.identity == "12.3.4" && tree.is_directory));
    const CleanupEntry library = parse_cleanup_entry(library_entry("12.0:/tmp/p_libs/l.so"));
    CHECK((library.is_library && library.identity == "12.0"));
    CHECK(library.path == "/tmp/p_libs/l.so");
    const CleanupEntry begun = parse_cleanup_entry(library_entry("/tmp/p_libs/.l.so"));
    CHECK((begun.is_library && begun.identity.empty() && begun.path == "/tmp/p_libs/.l.so"));
    const CleanupEntry use = parse_cleanup_entry(use_entry("/tmp/L:/x"));
    CHECK((use.kind == CleanupEntry::Kind::use && use.path == "/tmp/L:/x"));
    CHECK(parse_cleanup_entry(use_entry("/")).path == "/");
    CHECK(parse_cleanup_entry(kAllUsesListed).kind == CleanupEntry::Kind::all_listed);
    CHECK(split_cleanup_list(std::string_view{"a\0b\0c", 5}) == Names{"a", "b"});
    CHECK(split_cleanup_list("").empty());
}

TEST_CASE("a directory made above a file is removed if it is empty and unused") {
    const Scratch outside;
    const std::string file = outside.write("a/b/file", "x");
    const Names list{parent_entry(outside.path("a")),
                     parent_entry(outside.path("a/b")),
                     removal_there(file)};
    const CleanupEntry parent = parse_cleanup_entry(list[1]);
    CHECK((parent.is_parent && parent.path == outside.path("a/b") && !parent.is_directory));
    SECTION("empty") {
        CHECK(follow_list(list) == 1);
        CHECK(::access(outside.path("a").c_str(), F_OK) != 0);
    }
    SECTION("not empty") {
        outside.write("a/mine", "x");
        CHECK(follow_list(list) == 1);
        CHECK(outside.names() == Names{"a/mine"});
        CHECK(::access(outside.path("a/b").c_str(), F_OK) != 0);
    }
    SECTION("used") {
        Names passed_on;
        follow_list(list, {{use_entry(outside.path("a/b/other"))}}, &passed_on);
        CHECK(::access(outside.path("a/b").c_str(), F_OK) == 0);
        CHECK(std::ranges::count(passed_on, list[0]) == 1);
        CHECK(std::ranges::count(passed_on, list[1]) == 1);
    }
}

TEST_CASE("a file that replaced a staged one later is not removed") {
    const Scratch outside;
    const std::string file = outside.write("file", "x");
    const std::string entry = removal_there(file);
    // Renamed over it, as a stage with overwrite does, so that it is another from the start.
    outside.write("file.new", "another job's");
    REQUIRE(::rename(outside.path("file.new").c_str(), file.c_str()) == 0);
    CHECK(follow_list({entry}) == 0);
    CHECK(outside.names() == Names{"file"});
}

TEST_CASE("entries that other stages use move to the last of these") {
    const Scratch outside;
    const std::string used = outside.write("used", "x");
    outside.write("tree/a", "x");
    outside.write("libs/a", "x");
    const Names all{removal_there(used),
                    removal_there(outside.path("tree/")),
                    removal_there(outside.path("libs/a"))};
    const Names uses{
        use_entry(used), use_entry(outside.path("tree")), use_entry(outside.path("libs"))};
    Names passed_on;
    CHECK(follow_list(all, {uses}, &passed_on) == 0);
    CHECK(passed_on == all);
    CHECK(outside.names() == Names{"libs/a", "tree/a", "used"});
    // Another stage's file in a tree keeps the tree.
    CHECK(follow_list(
              all, {{use_entry(used), use_entry(outside.path("tree/a"))}}, &passed_on) == 1);
    CHECK(passed_on == Names{all[0], all[1]});
    CHECK(outside.names() == Names{"tree/a", "used"});
    // An unread list of files may use any path; once it is read, only the paths in it.
    CHECK(follow_list(all, {{use_entry("/")}}) == 0);
    CHECK(follow_list(all, {{use_entry("/"), use_entry(used), kAllUsesListed}}, &passed_on) ==
          1);
    CHECK(outside.names() == Names{"used"});
    CHECK(follow_list(passed_on) == 1);
    CHECK(outside.names().empty());
}

TEST_CASE("a directory of libraries is removed with the last of them") {
    const Scratch outside;
    const std::string library = outside.write("prog_libs/liba.so", "x");
    const std::string begun = outside.write("prog_libs/.libb.so.stagecast.42.0", "x");
    const std::string own = outside.write("my_libs/file", "x");
    CHECK(follow_list({library_entry(removal_there(library)),
                       library_entry(begun),
                       removal_there(own)}) == 3);
    CHECK(::access(outside.path("prog_libs").c_str(), F_OK) != 0);
    CHECK(::access(outside.path("my_libs").c_str(), F_OK) == 0);
}

TEST_CASE("a tree is renamed before it is emptied, and is found after an interruption") {
    const Scratch outside;
    outside.write("tree/a", "x");
    outside.write("tree/b", "x");
    const std::string entry = removal_there(outside.path("tree/"));
    REQUIRE(::rename(outside.path("tree").c_str(),
                     outside.path(".tree.stagecast.going").c_str()) == 0);
    outside.write("tree/c", "another job's");
    CHECK(follow_list({entry}) == 1);
    CHECK(outside.names() == Names{"tree/c"});
}

TEST_CASE("a list removes directories only if it marks them, and by absolute names") {
    const Scratch outside;
    const std::string victim = outside.write("victim", "x");
    outside.write("kept", "x");
    outside.write("tree/a/b/c", "x");
    REQUIRE(::mkdir(outside.path("directory").c_str(), 0700) == 0);
    CHECK(follow_list({victim,
                       outside.path("directory"),
                       outside.path("tree/"),
                       outside.path("kept/"),
                       "kept",
                       "/",
                       "U",
                       "L",
                       ":",
                       outside.path("../"),
                       "",
                       outside.path("no")}) == 2);
    CHECK(outside.names() == Names{"kept"});
    CHECK(::access(outside.path("directory").c_str(), F_OK) == 0);
    CHECK(::access(outside.path("tree").c_str(), F_OK) != 0);
}

}  // namespace stage

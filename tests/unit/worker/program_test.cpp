// Tests that a program arrives with all its libraries or none, and only for itself.
#include "stager/worker/requests/orders.h"
#include "tests/unit/files/elf_files.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::elf_file;
using test::kSystemLoader;
using test::said;
using test::Scratch;
using Names = std::vector<std::string>;

/// Where programs are installed, and a node that they are staged to.
struct Site {
    Scratch apps;
    Scratch node;
    Scratch stage;
    std::string library_path{};
    std::string subdirectory{};
    Names listed{};
    Names paths{};     ///< library_paths()
    Names warnings{};  ///< What is said about optional files.

    /// apps/NAME/bin/NAME, which finds its liba.so.1 by $ORIGIN.
    std::string install(const std::string& name, const std::string& content) const {
        apps.write(name + "/lib/liba.so.1", elf_file({.name = "liba.so.1", .rest = content}));
        return apps.write(name + "/bin/" + name,
                          elf_file({.interpreter = kSystemLoader,
                                    .needed = {"liba.so.1"},
                                    .runpath = "$ORIGIN/../lib",
                                    .rest = content}));
    }

    [[nodiscard]] Result<Orders> orders(const Names& options) const {
        std::vector<StageSpec> specs;
        for (const std::string& option : options) {
            const auto spec = parse_spec(option);
            REQUIRE(spec);
            specs.push_back(*spec);
        }
        const auto line = serialize(specs, {.ld_library_path = library_path});
        REQUIRE(line);
        return Orders::parse(*line,
                             {.stage_dir = stage.path(),
                              .dest_subdir = subdirectory,
                              .dest_roots = {node.path()},
                              .work_dir = apps.path()});
    }

    std::string stage_all(const Names& options) {
        const Result<Orders> orders = this->orders(options);
        REQUIRE(orders);
        const auto sources = orders->sources();
        if (!sources) {
            return sources.error().sentence();
        }
        auto source = FileSource::open(*sources, 0);
        if (!source) {
            return source.error().sentence();
        }
        const auto blocks = test::blocks_of(**source);
        REQUIRE(blocks);
        listed.clear();
        SinkConfig config = test::telling_config({}, orders->base(), listed);
        config.order_of = [&](const ManifestEntry& entry) { return orders->target_of(entry); };
        FileSink sink{std::move(config)};
        const std::string result = said(test::deliver(*blocks, sink, 1));
        paths = sink.library_paths();
        warnings.clear();
        for (const Error& one : sink.warnings()) {
            warnings.push_back(one.sentence());
        }
        return result;
    }
};

void set_time(const std::string& path, std::int64_t seconds) {
    const std::array times{timespec{seconds, 0}, timespec{seconds, 0}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

}  // namespace

TEST_CASE("$ORIGIN in the search path leads a program to its libraries, and no other") {
    Site site;
    REQUIRE(site.stage_all({site.install("one", "1") + "::libs"}) == "ok");
    CHECK(content_of(site.stage.path("one_libs/liba.so.1")) ==
          content_of(site.apps.path("one/lib/liba.so.1")));
    const std::string libs = site.stage.path(".stagecast/libs/0");
    CHECK(site.paths == Names{libs + "/$ORIGIN/"});
    CHECK(content_of(libs + site.stage.path() + "/liba.so.1") ==
          content_of(site.apps.path("one/lib/liba.so.1")));
    // A requeued job's stage finds its earlier links.
    CHECK(site.stage_all({site.install("one", "1") + "::libs"}) == "ok");
}

TEST_CASE("a name that would end a search path is in none") {
    Site site;
    const std::string program = site.install("one", "1");
    REQUIRE(site.stage_all({program + ":" + site.node.path("a;b\\:2") + ":libs"}) == "ok");
    const std::string libs = site.stage.path(".stagecast/libs/0");
    CHECK(site.paths == Names{libs + "/$ORIGIN/"});
    CHECK(content_of(libs + site.node.path() + "/liba.so.1") ==
          content_of(site.node.path("a;b:2_libs/liba.so.1")));
}

TEST_CASE("the libraries of a library are for every program") {
    Site site;
    site.library_path = site.apps.path("lib");
    site.apps.write("lib/liba.so.1", elf_file({}));
    const std::string library = site.apps.write("libb.so", elf_file({.needed = {"liba.so.1"}}));
    REQUIRE(site.stage_all({library + "::libs"}) == "ok");
    CHECK(site.paths == Names{site.stage.path(".stagecast/libs/0/all/")});
    CHECK(::access((site.paths.front() + "liba.so.1").c_str(), R_OK) == 0);
}

TEST_CASE("programs of one directory that need different libraries of one name are refused") {
    Site site;
    const std::string one = site.install("one", "1");
    const std::string two = site.install("two", "2");
    // The other may come without libs, and find its own.
    for (const std::string& other : {two + "::libs", two}) {
        CHECK_THAT(site.stage_all({one + "::libs", other}),
                   Contains("would load the library liba.so.1") && Contains(one) &&
                       Contains(two) && Contains("a directory of its own"));
    }
    CHECK(site.stage_all({one + "::libs", two + ":other/:libs"}) == "ok");
    CHECK(site.paths.size() == 2);
    site.install("two", "1");
    CHECK(site.stage_all({one + "::libs", two + "::libs"}) == "ok");
}

TEST_CASE("a step's program beside one of the job's finds no other library than that one") {
    Site site;
    const std::string there = ":" + site.node.path();
    REQUIRE(site.stage_all({site.install("one", "1") + there + "/one:libs"}) == "ok");
    site.subdirectory = "step.0";
    CHECK_THAT(site.stage_all({site.install("two", "2") + there + "/two:libs"}),
               Contains("two_libs/liba.so.1: the job has another one") &&
                   Contains(site.node.path("one_libs/liba.so.1")));
    CHECK(site.stage_all({site.install("three", "1") + there + "/three:libs"}) == "ok");
    CHECK(site.stage_all({site.install("two", "2") + "::libs"}) == "ok");
    CHECK(site.paths == Names{site.stage.path("step.0/.stagecast/libs/0/$ORIGIN/")});
}

TEST_CASE("newer replaces a program with all its libraries, or nothing of it") {
    Site site;
    const auto version = [&](const std::string& name, int program, int library) {
        const std::string path = site.install(name, name);
        set_time(path, program);
        set_time(site.apps.path(name + "/lib/liba.so.1"), library);
        return path + ":" + site.node.path("p") + ":newer+libs";
    };
    const auto is_there = [&](const std::string& name) {
        return content_of(site.node.path("p")) ==
                   content_of(site.apps.path(name + "/bin/" + name)) &&
               content_of(site.node.path("p_libs/liba.so.1")) ==
                   content_of(site.apps.path(name + "/lib/liba.so.1"));
    };
    REQUIRE(site.stage_all({version("one", 100, 200)}) == "ok");
    REQUIRE(is_there("one"));
    // Its library alone is older.
    CHECK(site.stage_all({version("two", 300, 50)}) == "ok");
    CHECK(is_there("two"));
    // Its library alone is newer than the one there.
    CHECK(site.stage_all({version("three", 250, 260)}) == "ok");
    CHECK(is_there("two"));
    CHECK(site.paths.size() == 1);
    // A missing library is staged with the others.
    REQUIRE(::unlink(site.node.path("p_libs/liba.so.1").c_str()) == 0);
    CHECK(site.stage_all({version("two", 300, 50)}) == "ok");
    CHECK(is_there("two"));
}

TEST_CASE("keep leaves a program and its libraries, but no libraries without their program") {
    Site site;
    const std::string there = ":" + site.node.path("p") + ":keep+libs";
    REQUIRE(site.stage_all({site.install("one", "1") + there}) == "ok");
    REQUIRE(site.stage_all({site.install("two", "2") + there}) == "ok");
    const auto library_of = [&](const std::string& name) {
        return content_of(site.apps.path(name + "/lib/liba.so.1"));
    };
    CHECK(content_of(site.node.path("p_libs/liba.so.1")) == library_of("one"));
    REQUIRE(::unlink(site.node.path("p").c_str()) == 0);
    REQUIRE(site.stage_all({site.install("two", "2") + there}) == "ok");
    CHECK(content_of(site.node.path("p_libs/liba.so.1")) == library_of("two"));
}

TEST_CASE("an optional program is given up with all its libraries") {
    Site site;
    const std::string program = site.install("one", "1");
    SECTION("where no directory can be made for it") {
        site.node.write("file", "in the way");
        CHECK(site.stage_all({program + ":" + site.node.path("file/p") + ":libs+optional"}) ==
              "ok");
        CHECK_THAT(site.warnings.front(), Contains("Not a directory"));
        CHECK(site.node.names() == Names{"file"});
    }
    SECTION("where another program has its name") {
        site.node.write("p", "another");
        CHECK(site.stage_all({program + ":" + site.node.path("p") + ":libs+optional"}) == "ok");
        CHECK(site.node.names() == Names{"p"});
    }
    SECTION("where one of its libraries is in the way") {
        site.node.write("p_libs/liba.so.1", "another");
        CHECK(site.stage_all({program + ":" + site.node.path("p") + ":libs+optional"}) == "ok");
        CHECK(site.node.names() == Names{"p_libs/liba.so.1"});
    }
    SECTION("where a library is not found") {
        REQUIRE(::unlink(site.apps.path("one/lib/liba.so.1").c_str()) == 0);
        CHECK(site.stage_all({program + ":" + site.node.path("p") + ":libs+optional"}) == "ok");
        CHECK_THAT(site.warnings.front(), Contains("liba.so.1, which it needs, is not found"));
        CHECK(site.node.names().empty());
    }
    CHECK(site.warnings.size() == 1);
    CHECK(site.paths.empty());
    CHECK(::access(site.node.path("p_libs").c_str(), F_OK) ==
          (site.node.names() == Names{"p_libs/liba.so.1"} ? 0 : -1));
}

TEST_CASE("a stage that fails leaves no directory of libraries") {
    Site site;
    const std::string program = site.install("one", "1");
    site.node.write("file", "in the way");
    const std::string other = site.apps.write("other", "x");
    CHECK_THAT(site.stage_all({program + ":" + site.node.path("p") + ":libs+temp",
                               other + ":" + site.node.path("file/other")}),
               Contains("Not a directory"));
    CHECK(::access(site.node.path("p_libs").c_str(), F_OK) != 0);
}

TEST_CASE("a temporary directory of libraries goes with what the job put there") {
    Site site;
    const std::string spec =
        site.install("one", "1") + ":" + site.node.path("p") + ":libs+temp";
    SECTION("which the stage made") {
        REQUIRE(site.stage_all({spec}) == "ok");
        REQUIRE(::symlink("liba.so.1", site.node.path("p_libs/liba.so").c_str()) == 0);
        CHECK(test::follow_list(site.listed) > 0);
        CHECK(site.node.names().empty());
    }
    SECTION("which was there, and keeps what was in it") {
        site.node.write("p_libs/mine", "x");
        REQUIRE(site.stage_all({spec}) == "ok");
        CHECK(test::follow_list(site.listed) > 0);
        CHECK(site.node.names() == Names{"p_libs/mine"});
    }
}

TEST_CASE("a path that a program needs is on the node, or comes with it") {
    Site site;
    const std::string library = site.apps.write("lib/libnamed.so", elf_file({}));
    const std::string needed = site.node.path("libnamed.so");
    const std::string program =
        site.apps.write("prog", elf_file({.interpreter = kSystemLoader, .needed = {needed}}));
    CHECK_THAT(site.stage_all({program + "::libs"}),
               Contains(needed) && Contains("is not found"));
    site.node.write("libnamed.so", elf_file({}));
    const Result<Orders> orders = site.orders({program + "::libs"});
    const auto sources = orders->sources();
    REQUIRE(sources);
    CHECK(parse_program_line(sources->front().line) == Names{needed});
    CHECK(site.stage_all({program + "::libs"}) == "ok");

    // Another node, that has no such file.
    auto source = FileSource::open(*sources, 0);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(::unlink(needed.c_str()) == 0);
    SinkConfig config = test::sink_config({}, site.stage.path());
    config.order_of = [&](const ManifestEntry& entry) { return orders->target_of(entry); };
    FileSink sink{std::move(config)};
    CHECK_THAT(said(test::deliver(*blocks, sink, 1)),
               Contains("the program needs " + needed + " at this very path"));
}

TEST_CASE("a library under two names is one file for the loader") {
    Site site;
    const auto install = [&](const std::string& name, const std::string& content) {
        site.apps.write("lib/libblas.so.3", elf_file({.rest = content}));
        REQUIRE((::symlink("libblas.so.3", site.apps.path("lib/liblapack.so.3").c_str()) == 0 ||
                 errno == EEXIST));
        return site.apps.write("bin/" + name,
                               elf_file({.interpreter = kSystemLoader,
                                         .needed = {"liblapack.so.3", "libblas.so.3"},
                                         .runpath = "$ORIGIN/../lib"}));
    };
    const auto file_at = [](const std::string& path) {
        struct stat found {};
        REQUIRE(::stat(path.c_str(), &found) == 0);
        return found.st_ino;
    };
    const std::string place = ":" + site.node.path("p");
    for (const char* const flags : {":libs", ":libs", ":libs+keep", ":libs+overwrite"}) {
        REQUIRE(site.stage_all({install("one", "1") + place + flags}) == "ok");
        const std::string libs = site.stage.path(".stagecast/libs/0");
        // The last is searched first.
        CHECK(site.paths == Names{libs + "/$ORIGIN/", libs + "=/$ORIGIN/"});
        const std::string found = libs + "=" + site.node.path() + "/";
        CHECK(file_at(found + "libblas.so.3") == file_at(found + "liblapack.so.3"));
        CHECK(file_at(found + "libblas.so.3") ==
              file_at(site.node.path("p_libs/liblapack.so.3")));
        // Where nothing searches the links, both names are there.
        CHECK(content_of(site.node.path("p_libs/libblas.so.3")) ==
              content_of(site.apps.path("lib/libblas.so.3")));
    }
    // Two programs in one directory: every link is searched before any copy.
    REQUIRE(site.stage_all({install("one", "1") + "::libs", install("two", "1") + "::libs"}) ==
            "ok");
    const std::string libs = site.stage.path(".stagecast/libs/");
    CHECK(site.paths == Names{libs + "0/$ORIGIN/",
                              libs + "1/$ORIGIN/",
                              libs + "0=/$ORIGIN/",
                              libs + "1=/$ORIGIN/"});
}

TEST_CASE("lines of programs and libraries are read back, others are none") {
    CHECK(parse_library_line(library_line({.name = "liba.so.1"}))->name == "liba.so.1");
    CHECK(parse_library_line(library_line({.name = "l", .is_for_all = true}))->is_for_all);
    const LibraryLine same{.name = "liba.so.1", .same_as = "libb.so.2"};
    CHECK(parse_library_line(library_line(same))->name == "liba.so.1");
    CHECK(parse_library_line(library_line(same))->same_as == "libb.so.2");
    using namespace std::string_view_literals;
    for (const std::string_view line :
         {""sv, "L"sv, "L.."sv, "La/b"sv, "A/a"sv, "Pa"sv, "x"sv, "La\0"sv, "La\0../b"sv}) {
        CHECK_FALSE(parse_library_line(line));
    }
    const Names paths{"/a:b;c", "/d\ne"};
    const auto line = program_line(paths);
    REQUIRE(line);
    CHECK(parse_program_line(*line) == paths);
    CHECK(program_line({})->empty());
    CHECK(parse_program_line("Prelative").empty());
    CHECK_FALSE(program_line({'/' + std::string(20000, 'x')}));
}

}  // namespace stage

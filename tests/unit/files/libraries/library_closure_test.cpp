// Tests which libraries a program needs.
//
// This program itself is asked about, and small ones made here.
#include "stager/files/libraries/library_closure.h"

#include "tests/unit/files/elf_files.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::elf_file;
using test::kSystemLoader;
using test::Scratch;

constexpr const char* kSelf = "/proc/self/exe";

std::string refusal(const std::string& path, const SystemLibraries& system = {}) {
    const auto libraries = library_closure(path, "", "", system);
    return libraries ? "ok" : libraries.error().sentence();
}

}  // namespace

TEST_CASE("libraries in the system's directories are not sent") {
    const auto libraries = library_closure(kSelf, "");
    REQUIRE(libraries);
    CHECK(libraries->sent.empty());
}

TEST_CASE("the system's list finds the others, and their own needs") {
    SystemLibraries nothing_is_systems;
    nothing_is_systems.directories = {};
    const auto libraries = library_closure(kSelf, "", "", nothing_is_systems);
    REQUIRE(libraries);
    const auto has = [&](std::string_view name) {
        return std::ranges::count(libraries->sent, name, &Library::name);
    };
    CHECK(has("libc.so.6") == 0);
    CHECK(has("libxxhash.so.0") == 1);
    for (const Library& one : libraries->sent) {
        CHECK(one.path.ends_with('/' + one.name));
        CHECK(::access(one.path.c_str(), R_OK) == 0);
    }
}

TEST_CASE("LD_LIBRARY_PATH comes before the system's list") {
    const Scratch scratch;
    SystemLibraries nothing_is_systems;
    nothing_is_systems.directories = {};
    const auto all = library_closure(kSelf, "", "", nothing_is_systems);
    REQUIRE(all);
    const auto xxhash = std::ranges::find(all->sent, "libxxhash.so.0", &Library::name);
    REQUIRE(xxhash != all->sent.end());
    const std::string copy = scratch.write("libxxhash.so.0", test::content_of(xxhash->path));
    const auto libraries = library_closure(kSelf, ":relative:/none:" + scratch.path());
    REQUIRE(libraries);
    REQUIRE(libraries->sent.size() == 1);
    CHECK(libraries->sent.front().path == copy);
}

TEST_CASE("a file that is no program, and a missing library, are reported") {
    const Scratch scratch;
    CHECK_THAT(refusal(scratch.write("script", "#!/bin/sh\n")),
               Contains("/script: is a script"));
    CHECK_THAT(refusal(scratch.write("text", "hello")), Contains("/text: is not a program"));
    CHECK_THAT(refusal(scratch.write("empty", "")), Contains("/empty: is not a program"));
    CHECK_THAT(refusal(scratch.path()), Contains("is not a program"));
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

TEST_CASE("a search path is read as the loader reads it") {
    const Scratch scratch;
    const std::string program = scratch.write(
        "bin/prog",
        elf_file(
            {.interpreter = kSystemLoader,
             .needed = {"liba.so.1"},
             .runpath = GENERATE(
                 "$ORIGIN/../lib", "${ORIGIN}/../lib", "../lib", "/none:$ORIGIN/../lib")}));
    const std::string library = scratch.write("lib/liba.so.1", elf_file({.name = "liba.so.1"}));
    const auto libraries = library_closure(program, "", scratch.path("bin"));
    REQUIRE(libraries);
    REQUIRE(libraries->sent.size() == 1);
    CHECK(real_path(libraries->sent.front().path) == real_path(library));
}

TEST_CASE("LD_LIBRARY_PATH has two separators, and its $ORIGIN is the program's") {
    const Scratch scratch;
    const std::string program = scratch.write(
        "bin/prog", elf_file({.interpreter = kSystemLoader, .needed = {"liba.so.1"}}));
    scratch.write("lib/liba.so.1", elf_file({.needed = {"libb.so.1"}}));
    scratch.write("lib/libb.so.1", elf_file({}));
    const std::string path = GENERATE("/none;$ORIGIN/../lib", "$ORIGIN/../lib:/none", "lib");
    const auto libraries = library_closure(program, path, scratch.path());
    REQUIRE(libraries);
    CHECK(libraries->sent.size() == 2);
    CHECK(library_closure(program, path, "").ok() == (path != "lib"));
}

TEST_CASE("$LIB is the loader's directory; a longer name is not the token") {
    bool has_origin = false;
    const SearchContext context{.lib_token = "lib/x86_64-linux-gnu", .work_dir = {}};
    CHECK(with_tokens("/p/$LIB/${LIB}", "/o", context, has_origin) ==
          "/p/lib/x86_64-linux-gnu/lib/x86_64-linux-gnu");
    CHECK(with_tokens("/p/$LIB_x/$LIBRARY/${LIB/$", "/o", context, has_origin) ==
          "/p/$LIB_x/$LIBRARY/${LIB/$");
    CHECK_FALSE(has_origin);
    CHECK(with_tokens("$ORIGIN/x", "/o", context, has_origin) == "/o/x");
    CHECK(has_origin);
    CHECK(library_token_of("/none/lib64/ld-linux-x86-64.so.2") == "lib64");
    CHECK(library_token_of("/gnu/store/abc-glibc/lib/ld.so") == "lib");
}

TEST_CASE("a library for certain processors is found, a general one comes first") {
    const Scratch scratch;
    const std::string program = scratch.write(
        "prog", elf_file({.interpreter = kSystemLoader, .needed = {"liba.so.1"}}));
    const std::string some =
        scratch.write("lib/glibc-hwcaps/x86-64-v2/liba.so.1", elf_file({}));
    scratch.write("lib/glibc-hwcaps/x86-64-v3/liba.so.1", elf_file({}));
    const auto found = [&] {
        const auto libraries = library_closure(program, scratch.path("lib"));
        REQUIRE(libraries);
        REQUIRE(libraries->sent.size() == 1);
        return libraries->sent.front().path;
    };
    CHECK(found() == some);
    const std::string plain = scratch.write("lib/liba.so.1", elf_file({}));
    CHECK(found() == plain);
}

TEST_CASE("the C library is sent only if another loader finds it by $ORIGIN alone") {
    const Scratch scratch;
    scratch.write("lib/libc.so.6", elf_file({.name = "libc.so.6"}));
    const std::string loader = scratch.write("lib/ld-linux-x86-64.so.2", elf_file({}));
    const auto closure = [&](const std::string& interpreter, const std::string& rpath) {
        auto libraries = library_closure(
            scratch.write("bin/prog",
                          elf_file({.interpreter = interpreter,
                                    .needed = {"libc.so.6", "ld-linux-x86-64.so.2"},
                                    .rpath = rpath})),
            "");
        REQUIRE(libraries);
        return *std::move(libraries);
    };
    CHECK(closure(kSystemLoader, scratch.path("lib")).sent.empty());
    CHECK(closure(kSystemLoader, "$ORIGIN/../lib").sent.empty());
    CHECK(closure(kSystemLoader, "$ORIGIN/../lib").paths.empty());
    const LibraryClosure installed = closure(loader, scratch.path("lib"));
    CHECK(installed.sent.empty());
    CHECK(installed.paths ==
          std::vector<std::string>{loader, scratch.path("lib") + "/libc.so.6", loader});
    const LibraryClosure moving = closure(loader, "$ORIGIN/../lib");
    REQUIRE(moving.sent.size() == 1);
    CHECK(moving.sent.front().name == "libc.so.6");
}

TEST_CASE("a library needed by its path must exist, and its needs are sent") {
    const Scratch scratch;
    const std::string named = scratch.write(
        "lib/libnamed.so", elf_file({.needed = {"libdeep.so"}, .runpath = "$ORIGIN"}));
    scratch.write("lib/libdeep.so", elf_file({}));
    const auto closure = [&](const std::string& needed) {
        return library_closure(
            scratch.write("bin/prog",
                          elf_file({.interpreter = kSystemLoader, .needed = {needed}})),
            "",
            scratch.path());
    };
    for (const std::string& needed : {named, std::string{"lib/libnamed.so"}}) {
        const auto libraries = closure(needed);
        REQUIRE(libraries);
        CHECK(libraries->paths == std::vector<std::string>{named});
        REQUIRE(libraries->sent.size() == 1);
        CHECK(libraries->sent.front().name == "libdeep.so");
    }
    CHECK_THAT(closure("/none/libx.so").error().sentence(),
               Contains("the library /none/libx.so, which it needs, is not found"));
    CHECK_THAT(closure("$ORIGIN/../lib/libnamed.so").error().sentence(),
               Contains("at a path relative to its own directory"));
}

TEST_CASE("what a filter stands for is needed, too, and what it or a program wants if found") {
    const Scratch scratch;
    const auto closure = [&] {
        return library_closure(
            scratch.write("bin/prog",
                          elf_file({.interpreter = kSystemLoader,
                                    .needed = {"libfilter.so", "libmaybe.so"},
                                    .audit = "libaudit.so:libnone.so",
                                    .runpath = "$ORIGIN/../lib"})),
            "");
    };
    for (const char* const name :
         {"libreal.so", "libbetter.so", "libaudit.so", "libaudits.so", "libmaybe.so"}) {
        scratch.write("lib/" + std::string{name}, elf_file({.name = name}));
    }
    scratch.write("lib/libaudit.so",
                  elf_file({.needed = {"libaudits.so"}, .runpath = "$ORIGIN"}));
    const std::string filter =
        scratch.write("lib/libfilter.so",
                      elf_file({.filters = {"libreal.so"},
                                .auxiliaries = {"libbetter.so", "libmissing.so"},
                                .audit = "libreal.so",  // The loader asks programs only.
                                .runpath = "$ORIGIN"}));
    const auto libraries = closure();
    REQUIRE(libraries);
    std::vector<std::string> names;
    for (const Library& one : libraries->sent) {
        names.push_back(one.name);
    }
    CHECK(names == std::vector<std::string>{"libfilter.so",
                                            "libmaybe.so",
                                            "libaudit.so",
                                            "libreal.so",
                                            "libbetter.so",
                                            "libaudits.so"});
    REQUIRE(::unlink(scratch.path("lib/libreal.so").c_str()) == 0);
    CHECK_THAT(closure().error().sentence(),
               Contains("the library libreal.so, which " + scratch.path("bin") +
                        "/../lib/libfilter.so needs, is not found"));
}

TEST_CASE("a name that one object does not find, and could do without, another may need") {
    const Scratch scratch;
    scratch.write("lib/liba.so", elf_file({.auxiliaries = {"libdeep.so"}, .runpath = "/none"}));
    scratch.write("lib/libb.so", elf_file({.needed = {"libdeep.so"}, .runpath = "$ORIGIN/b"}));
    const std::string program = scratch.write("bin/prog",
                                              elf_file({.interpreter = kSystemLoader,
                                                        .needed = {"liba.so", "libb.so"},
                                                        .runpath = "$ORIGIN/../lib"}));
    CHECK_THAT(refusal(program), Contains("libdeep.so"));
    scratch.write("lib/b/libdeep.so", elf_file({}));
    const auto libraries = library_closure(program, "");
    REQUIRE(libraries);
    CHECK(libraries->sent.size() == 3);
}

TEST_CASE("a file under several names is known as one") {
    const Scratch scratch;
    const std::string file = scratch.write(
        "lib/libopenblasp.so", elf_file({.name = "libopenblas.so.0", .needed = {"liba.so"}}));
    scratch.write("lib/liba.so", elf_file({}));
    REQUIRE(::link(file.c_str(), scratch.path("lib/libblas.so.3").c_str()) == 0);
    REQUIRE(::symlink("libopenblasp.so", scratch.path("lib/liblapack.so.3").c_str()) == 0);
    const std::string program = scratch.write(
        "bin/prog",
        elf_file({.interpreter = kSystemLoader,
                  .needed = {"libblas.so.3", "liblapack.so.3", "liba.so", "libopenblas.so.0"},
                  .rpath = "$ORIGIN/../lib"}));
    const auto libraries = library_closure(program, "");
    REQUIRE(libraries);
    REQUIRE(libraries->sent.size() == 3);
    CHECK(libraries->sent[0].same_as.empty());
    CHECK(libraries->sent[1].name == "liblapack.so.3");
    CHECK(libraries->sent[1].same_as == "libblas.so.3");
    CHECK(libraries->sent[2].same_as.empty());
}

TEST_CASE("a program linked with musl is refused") {
    const Scratch scratch;
    CHECK_THAT(
        refusal(scratch.write("prog", elf_file({.interpreter = "/lib/ld-musl-x86_64.so.1"}))),
        Contains("is linked with musl"));
}

}  // namespace stage

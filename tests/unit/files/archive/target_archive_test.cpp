// Tests that an archive is unpacked completely or not at all, and only below its directory.
#include "tests/unit/files/archives.h"
#include "tests/unit/files/unpacking.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <zstd.h>

#include <random>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::said;
using test::Scratch;
using test::Spec;
using test::status_of;
using test::Tar;
using test::unpacking;
using Names = std::vector<std::string>;

/// Compresses as `zstd` does.
std::string pressed(const std::string& bytes) {
    std::string less(ZSTD_compressBound(bytes.size()), '\0');
    less.resize(ZSTD_compress(less.data(), less.size(), bytes.data(), bytes.size(), 3));
    return less;
}

/// Checks that it fails with `why`, names archive and member, and leaves nothing.
void check_refused(const Tar& tar, const std::string& member, const std::string& why) {
    CAPTURE(member, why);
    const Scratch outside;
    const std::string secret = outside.write("secret", "as it was");
    const Scratch to;
    const std::string sentence = unpacking(tar.bytes(), to);
    CHECK_THAT(sentence, Contains("x.tar: '" + member + "'") && Contains(why));
    CHECK(to.names().empty());
    CHECK(content_of(secret) == "as it was");
}

}  // namespace

TEST_CASE("an archive arrives as its members, whatever the order of its blocks") {
    const auto seed = GENERATE(range(1U, 6U));
    CAPTURE(seed);
    const Scratch from;
    const Scratch to;
    const std::string large = test::noise(5 * kBlockBytes / 2, seed);
    Tar tar;
    tar.directory("d/", 0500).file("d/small", "content", 0750).file("d/large", large);
    tar.file("implied/deep/file", "x").symlink("link", "d/small");
    tar.symlink("d/up", "../..").hard_link("again", "d/large").file("./again2", "");
    tar.directory("d/empty").file("late", "one").file("late", "two");
    const std::string path = from.write("x.tar", tar.bytes());
    const std::vector<Spec> specs{
        {.source = path, .root = to.path(), .below = "a/t", .is_unpacked = true}};
    REQUIRE(said(test::stage_all(specs, seed)) == "ok");
    CHECK(content_of(to.path("a/t/d/small")) == "content");
    CHECK((content_of(to.path("a/t/d/large")) == large));
    CHECK(content_of(to.path("a/t/implied/deep/file")) == "x");
    CHECK(content_of(to.path("a/t/link")) == "content");
    CHECK(content_of(to.path("a/t/late")) == "two");
    CHECK(status_of(to.path("a/t/d/large")).st_ino == status_of(to.path("a/t/again")).st_ino);
    CHECK(S_ISLNK(status_of(to.path("a/t/d/up")).st_mode));
    CHECK(S_ISDIR(status_of(to.path("a/t/d/empty")).st_mode));
    CHECK((status_of(to.path("a/t/d")).st_mode & 07777U) == 0500);
    CHECK((status_of(to.path("a/t/d/small")).st_mode & 0700U) == 0700);
    CHECK(status_of(to.path("a/t/d/small")).st_mtime == 1234567890);
    CHECK(status_of(to.path("a/t/d")).st_mtime == 1234567890);
    // As old as the archive, so that `newer` knows it again.
    CHECK(mtime_of(status_of(to.path("a/t"))) == mtime_of(status_of(path)));
    CHECK(mtime_of(status_of(to.path("a/t/implied/deep"))) == mtime_of(status_of(path)));
    CHECK(to.names().size() == 8);
}

TEST_CASE("no entry of an archive is placed outside its directory") {
    const Scratch outside;
    check_refused(Tar{}.file("a", "").file("../a", "x"), "../a", "goes up by '..'");
    check_refused(Tar{}.file("b/../../a", "x"), "b/../../a", "goes up by '..'");
    check_refused(Tar{}.file("/tmp/a", "x"), "/tmp/a", "absolute name");
    check_refused(Tar{}.symlink("l", outside.path()).file("l/a", "x"),
                  "l/a",
                  "lies below 'l', which is a link");
    check_refused(Tar{}.directory("d").symlink("d/l", "..").file("d/l/a", "x"),
                  "d/l/a",
                  "lies below 'd/l', which is a link");
    check_refused(Tar{}.hard_link("h", "../secret"), "h", "is a hard link that: goes up");
    check_refused(Tar{}.hard_link("h", "/etc/passwd"), "h", "is a hard link that: has an abs");
    check_refused(Tar{}.symlink("l", outside.path()).hard_link("h", "l/secret"),
                  "h",
                  "lies below 'l', which is a link");
    check_refused(
        Tar{}.hard_link("h", "none"), "h", "is a link to 'none', which is not an earlier file");
    CHECK(outside.names().empty());
}

TEST_CASE("a link with a file's name is replaced, never written through") {
    const Scratch outside;
    const std::string secret = outside.write("secret", "as it was");
    const Scratch to;
    REQUIRE(unpacking(Tar{}.symlink("l", secret).file("l", "mine").bytes(), to) == "ok");
    CHECK(content_of(secret) == "as it was");
    CHECK(content_of(to.path("t/l")) == "mine");
    const Scratch other;
    REQUIRE(unpacking(Tar{}.symlink("l", secret).hard_link("h", "l").bytes(), other) == "ok");
    CHECK(S_ISLNK(status_of(other.path("t/h")).st_mode));
}

TEST_CASE("devices and pipes are refused, set-user-id bits are dropped") {
    check_refused(Tar{}.other("null", '3'), "null", "is a device, a pipe or a socket");
    check_refused(Tar{}.other("disk", '4'), "disk", "is a device, a pipe or a socket");
    check_refused(Tar{}.other("fifo", '6'), "fifo", "is a device, a pipe or a socket");
    const Scratch less;
    Tar root;
    root.directory("dev").other("dev/null", '3').hard_link("dev/zero", "dev/null");
    root.other("dev/initctl", '6').file("file", "x");
    const std::vector<Spec> specs{{.source = less.write("x.tar", root.bytes()),
                                   .root = less.path(),
                                   .below = "t",
                                   .is_unpacked = true,
                                   .skips_devices = true}};
    REQUIRE(said(test::stage_all(specs)) == "ok");
    CHECK(less.names() == std::vector<std::string>{"t/file", "x.tar"});
    CHECK(S_ISDIR(status_of(less.path("t/dev")).st_mode));
    check_refused(Tar{}.directory("d").file("d/f", "").file("d", ""),
                  "d",
                  "replaces a directory that is not empty");
    const Scratch to;
    const std::string bytes = Tar{}.file("su", "x", 06755).directory("sticky", 07755).bytes();
    REQUIRE(unpacking(bytes, to) == "ok");
    CHECK((status_of(to.path("t/su")).st_mode & 07000U) == 0);
    CHECK((status_of(to.path("t/sticky")).st_mode & 07000U) == 0);
}

TEST_CASE("a repeated entry replaces the earlier one, as in tar") {
    const Scratch to;
    Tar tar;
    tar.directory("a").file("a/f", "1").hard_link("a/f", "a/f").hard_link("./a//f", "a/./f");
    tar.symlink("l", "a").hard_link("l", "l").hard_link("h", "a/f").hard_link("a/f", "h");
    tar.file("was", "a file").directory("was").file("was/f", "2");
    tar.directory("empty").file("empty", "3").symlink("to", "was").directory("to");
    tar.file("to/f", "4");
    REQUIRE(unpacking(tar.bytes(), to) == "ok");
    CHECK(to.names() == Names{"t/a/f", "t/empty", "t/h", "t/l", "t/to/f", "t/was/f"});
    CHECK(content_of(to.path("t/a/f")) == "1");
    CHECK(content_of(to.path("t/l/f")) == "1");
    CHECK(content_of(to.path("t/was/f")) == "2");
    CHECK(content_of(to.path("t/empty")) == "3");
    CHECK(status_of(to.path("t/a/f")).st_ino == status_of(to.path("t/h")).st_ino);
    check_refused(
        Tar{}.hard_link("h", "h"), "h", "is a link to itself, without a file before it");
    check_refused(Tar{}.directory("d").hard_link("d", "d"), "d", "is a link to itself");
}

TEST_CASE("a pax time before 1970 keeps its fraction") {
    const auto time = [](const std::string& text) {
        const Scratch to;
        const std::string record = " mtime=" + text + "\n";
        const std::string line = std::to_string(record.size() + 2) + record;
        Tar tar;
        REQUIRE(unpacking(tar.pax(line).file("f", "x").bytes(), to) == "ok");
        return mtime_of(status_of(to.path("t/f")));
    };
    CHECK(time("-99.25") == FileTime{-100, 750'000'000});
    CHECK(time("-99") == FileTime{-99, 0});
    CHECK(time("99.25") == FileTime{99, 250'000'000});
}

TEST_CASE("modes are reduced by the user's umask, not this process's") {
    const mode_t own = ::umask(027);
    for (const unsigned bits : {0U, 2U, 022U, 077U, 0777U}) {
        const auto umask = static_cast<std::uint16_t>(bits);
        CAPTURE(umask);
        const Scratch to;
        Tar tar;
        tar.directory("d", 0777).file("d/all", "x", 0777).file("d/few", "x", 0640);
        tar.file("implied/f", "x", 0666).file("d/read", "x", 0444);
        REQUIRE(unpacking(tar.bytes(), to, 0, "x.tar", umask) == "ok");
        const auto mode = [&](const std::string& name) {
            return status_of(to.path("t/" + name)).st_mode & 07777U;
        };
        const unsigned rest = 0777U & ~unsigned{umask};
        if (umask != 0777 || ::geteuid() == 0) {
            CHECK(mode("") == rest);
            CHECK(mode("d") == rest);
            CHECK(mode("d/all") == rest);
            CHECK(mode("d/few") == (0640U & rest));
            CHECK(mode("d/read") == (0444U & rest));
            CHECK(mode("implied") == rest);
            CHECK(mode("implied/f") == (0666U & rest));
        }
    }
    ::umask(own);
}

TEST_CASE("the unpacked size is limited") {
    const std::string zeros(3 * kBlockBytes, '\0');
    const std::string bytes = pressed(Tar{}.file("a", zeros).file("b", zeros).bytes());
    REQUIRE(bytes.size() < kBlockBytes);
    const Scratch to;
    CHECK_THAT(unpacking(bytes, to, 4 * kBlockBytes),
               Contains("'b': it unpacks to more than the 4.0 MiB that this site allows"));
    CHECK(to.names().empty());
    CHECK(unpacking(bytes, to, 6 * kBlockBytes) == "ok");
}

TEST_CASE("a truncated or damaged archive is one error, and leaves nothing") {
    const std::string noise = test::noise(kBlockBytes + 5);
    const std::string whole = Tar{}.file("first", "1").file("second", noise).bytes();
    const Scratch to;
    CHECK_THAT(unpacking(whole.substr(0, kBlockBytes / 2), to),
               Contains("x.tar: is damaged or cut off at or behind 'second'"));
    CHECK_THAT(unpacking(Tar{}.file("first", "1").unfinished(), to),
               Contains("x.tar: ends too early"));
    std::string bent = whole;
    bent[1024 + 10] = '!';  // The second header's name: its sum is wrong.
    CHECK_THAT(unpacking(bent, to), Contains("x.tar: is damaged"));
    CHECK_THAT(unpacking(noise, to), Contains("x.tar: is not an archive that can be unpacked"));
    CHECK_THAT(unpacking("", to), Contains("x.tar: is not an archive that can be unpacked"));
    CHECK_THAT(unpacking("PK\x03\x04 and then nothing of a zip", to),
               Contains("x.tar: is damaged or cut off (the directory at the zip's end is"));
    CHECK(to.names().empty());
}

TEST_CASE("hostile bytes end in an error message") {
    const std::string whole =
        Tar{}.file("first", test::noise(2000)).symlink("l", "first").directory("d").bytes();
    std::mt19937 draw{7};  // NOLINT(cert-msc51-cpp): the same bytes each time.
    for (int round = 0; round < 200; ++round) {
        std::string bent = whole;
        for (int i = 0; i < 4; ++i) {
            bent[draw() % bent.size()] = static_cast<char>(draw());
        }
        const Scratch to;
        CHECK_FALSE(unpacking(bent, to).empty());
    }
}

TEST_CASE("an existing target is kept, refused or replaced, but never the archive itself") {
    const Scratch from;
    const std::string path = from.write("t.tar", Tar{}.file("a", "new").bytes());
    const auto staging = [&](const std::string& root, Existing existing) {
        return said(test::stage_all({{.source = path,
                                      .root = root,
                                      .below = "t",
                                      .existing = existing,
                                      .is_unpacked = true}}));
    };
    const Scratch to;
    to.write("t/mine", "mine");
    CHECK_THAT(staging(to.path(), Existing::refuse), Contains("/t: exists already"));
    CHECK(staging(to.path(), Existing::keep) == "ok");
    CHECK(to.names() == Names{"t/mine"});
    CHECK(staging(to.path(), Existing::overwrite) == "ok");
    CHECK(to.names() == Names{"t/a"});
    const Scratch again;
    CHECK(staging(again.path(), Existing::newer) == "ok");
    const std::uint64_t inode = status_of(again.path("t")).st_ino;
    CHECK(staging(again.path(), Existing::newer) == "ok");
    CHECK(status_of(again.path("t")).st_ino == inode);  // Known again, and left.
}

TEST_CASE("a tree that holds the archive is not replaced by what is in it") {
    const Scratch from;
    const std::string path = from.write("t/x.tar", Tar{}.file("a", "new").bytes());
    const std::vector<Spec> specs{{.source = path,
                                   .root = from.path(),
                                   .below = "t",
                                   .existing = Existing::overwrite,
                                   .is_unpacked = true}};
    const auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    SinkConfig config = test::sink_config(specs);
    config.identity_of = [&](std::size_t i) { return (*source)->identity(i); };
    config.above = [&](std::size_t i) { return (*source)->above(i); };
    FileSink sink{std::move(config)};
    CHECK_THAT(said(test::deliver(test::object_of(specs), sink, 1)),
               Contains("/t: the source lies in it"));
    CHECK(from.names() == Names{"t/x.tar"});
}

TEST_CASE("a mount point is reported before anything is made", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    const std::string path = from.write("x.tar", Tar{}.file("a", "x").bytes());
    const std::string sentence = test::in_child([&]() -> std::string {
        const std::vector<Spec> specs{
            {.source = path, .root = to.path(), .below = "small", .is_unpacked = true}};
        FileSink sink{test::sink_config(specs)};
        return test::mount_small(to.path("small"), 100 * 4096)
                   ? said(sink.look(test::object_of(specs)[0]))
                   : "not here";
    });
    CHECK_THAT(sentence, Contains("/small: ") && Contains("it is a mount point"));
}

TEST_CASE("a directory can't be unpacked, and space is checked", "[root]") {
    const Scratch from;
    const Scratch to;
    from.write("t/a", "x");
    const std::vector<Spec> specs{
        {.source = from.path("t"), .root = to.path(), .below = "t", .is_unpacked = true}};
    CHECK_THAT(said(test::stage_all(specs)), Contains("/t: is a directory"));
    if (!is_root()) {
        return;
    }
    const std::string sentence = test::in_child([&]() -> std::string {
        if (!test::mount_small(to.path(), 4U << 20U)) {
            return "no mount";
        }
        return unpacking(Tar{}.file("a", std::string(3U << 20U, 'x')).bytes(), to);
    });
    CHECK_THAT(sentence,
               Contains("No space left on device") &&
                   Contains("the archive unpacks to more than the"));
}

}  // namespace stage

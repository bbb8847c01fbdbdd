// Tests how one file is written to its destination.
#include "stager/files/target/target_file.h"

#include "stager/disk/file_names.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::said;
using test::Scratch;
using test::Spec;
using Names = std::vector<std::string>;

void set_mtime(const std::string& path, time_t seconds) {
    const std::array times{timespec{seconds, 0}, timespec{seconds, 0}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

/// Stages 3 bytes "new" of mtime 1000 to `below` in `to`; returns the result.
std::string stage_new(const Scratch& to, const std::string& below, Existing existing) {
    const Scratch from;
    const std::string source = from.write("a", "new");
    set_mtime(source, 1000);
    return said(test::stage_all(
        {{.source = source, .root = to.path(), .below = below, .existing = existing}}));
}

}  // namespace

TEST_CASE("an existing destination is treated by the user's flags") {
    const Scratch to;
    const std::string path = to.write("x", "old");
    set_mtime(path, 999);
    SECTION("nothing said: what differs is refused, and stays") {
        CHECK_THAT(stage_new(to, "x", Existing::refuse),
                   Contains("exists already and differs"));
        CHECK(content_of(path) == "old");
    }
    SECTION("nothing said: another size is refused before any data") {
        to.write("x", "longer");
        CHECK_THAT(stage_new(to, "x", Existing::refuse),
                   Contains("exists already and differs"));
        CHECK(content_of(path) == "longer");
    }
    SECTION("nothing said: the same is success") {
        to.write("x", "new");
        CHECK(stage_new(to, "x", Existing::refuse) == "ok");
    }
    SECTION("keep") {
        CHECK(stage_new(to, "x", Existing::keep) == "ok");
        CHECK(content_of(path) == "old");
    }
    SECTION("newer replaces an older one") {
        CHECK(stage_new(to, "x", Existing::newer) == "ok");
        CHECK(content_of(path) == "new");
    }
    SECTION("newer leaves one of the same age, and younger ones") {
        set_mtime(path, 1000);
        CHECK(stage_new(to, "x", Existing::newer) == "ok");
        CHECK(content_of(path) == "old");
    }
    SECTION("overwrite") {
        CHECK(stage_new(to, "x", Existing::overwrite) == "ok");
        CHECK(content_of(path) == "new");
    }
    CHECK(to.names() == Names{"x"});
}

TEST_CASE("what keep and newer leave is a file, or a link to one") {
    const Scratch to;
    const auto existing = GENERATE(Existing::keep, Existing::newer);
    const std::string path = to.path("x");
    const auto refused = [&] {
        return Contains(
            "/x: exists already, and is neither a file nor a link to one; remove it");
    };
    SECTION("a pipe") {
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
        CHECK_THAT(stage_new(to, "x", existing), refused());
    }
    SECTION("a link to nothing") {
        REQUIRE(::symlink("nothing", path.c_str()) == 0);
        CHECK_THAT(stage_new(to, "x", existing), refused());
    }
    SECTION("a link to itself") {
        REQUIRE(::symlink("x", path.c_str()) == 0);
        CHECK_THAT(stage_new(to, "x", existing), refused());
    }
    SECTION("a link to a directory") {
        REQUIRE(::symlink(".", path.c_str()) == 0);
        CHECK_THAT(stage_new(to, "x", existing), refused());
    }
    SECTION("a link to a file") {
        to.write("file", "old");
        REQUIRE(::symlink("file", path.c_str()) == 0);
        CHECK(stage_new(to, "x", existing) == "ok");
        CHECK(content_of(path) == "old");
    }
    struct stat there {};
    CHECK(::lstat(path.c_str(), &there) == 0);
    CHECK(!S_ISREG(there.st_mode));
}

TEST_CASE("a pipe is replaced neither by newer nor by overwrite") {
    const Scratch to;
    const auto existing = GENERATE(Existing::newer, Existing::overwrite);
    REQUIRE(::mkfifo(to.path("x").c_str(), 0600) == 0);
    set_mtime(to.path("x"), 1);
    CHECK_THAT(stage_new(to, "x", existing),
               Contains("/x: exists already and is no regular file"));
    struct stat there {};
    REQUIRE(::lstat(to.path("x").c_str(), &there) == 0);
    CHECK(S_ISFIFO(there.st_mode));
}

TEST_CASE("a symbolic link at the destination is never written through") {
    const Scratch to;
    const Scratch elsewhere;
    const std::string victim = elsewhere.write("victim", "old");
    REQUIRE(::symlink(victim.c_str(), to.path("x").c_str()) == 0);
    const auto existing =
        GENERATE(Existing::refuse, Existing::keep, Existing::newer, Existing::overwrite);
    const std::string answer = stage_new(to, "x", existing);
    CHECK(content_of(victim) == "old");
    CHECK(elsewhere.names() == Names{"victim"});
    if (existing == Existing::overwrite) {
        CHECK(answer == "ok");
        CHECK(content_of(to.path("x")) == "new");
    }
    if (existing == Existing::refuse) {
        CHECK_THAT(answer, Contains("exists already and differs"));
    }
}

TEST_CASE("a symbolic link on the way is not followed") {
    const Scratch to;
    const Scratch elsewhere;
    REQUIRE(::symlink(elsewhere.path().c_str(), to.path("d").c_str()) == 0);
    CHECK_THAT(stage_new(to, "d/x", Existing::overwrite), Contains("symbolic link"));
    CHECK_THAT(stage_new(to, "d/e/x", Existing::overwrite), Contains("symbolic link"));
    CHECK(elsewhere.names().empty());
}

TEST_CASE("a symbolic link at the temporary name is not followed") {
    const Scratch to;
    const Scratch elsewhere;
    const std::string victim = elsewhere.write("victim", "old");
    REQUIRE(::symlink(victim.c_str(), to.path(".x.stagecast.42.0").c_str()) == 0);
    CHECK_THAT(stage_new(to, "x", Existing::overwrite), Contains("is in the way"));
    CHECK(content_of(victim) == "old");
    CHECK(to.names() == Names{".x.stagecast.42.0"});
}

TEST_CASE("a destination that goes up or into a file is refused") {
    const Scratch to;
    to.write("file", "x");
    CHECK_THAT(stage_new(to, "../x", Existing::overwrite), Contains("'..'"));
    CHECK_THAT(stage_new(to, "d/../../x", Existing::overwrite), Contains("'..'"));
    CHECK_THAT(stage_new(to, "file/x", Existing::overwrite), Contains("Not a directory"));
    REQUIRE(::mkdir(to.path("dir").c_str(), 0700) == 0);
    CHECK_THAT(stage_new(to, "dir", Existing::overwrite),
               Contains("Is a directory; append a slash"));
    CHECK_THAT(stage_new(to, std::string(256, 'n'), Existing::overwrite),
               Contains("choose a shorter name"));
    CHECK(stage_new(to, std::string(255, 'n'), Existing::overwrite) == "ok");
}

TEST_CASE("a missing directory is made, or reported, as the place says") {
    const Scratch from;
    const Scratch to;
    ManifestEntry entry;
    entry.name = "x";
    TargetOrder order;
    order.place = {.root = to.path(), .below = "d/x"};
    const auto refused = TargetFile::decide(order, entry, Writer{.job = "1"});
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().sentence(), Contains("No such file or directory; make its"));
    order.place.makes_directories = true;
    CHECK(TargetFile::decide(order, entry, Writer{.job = "1"}).ok());
}

TEST_CASE("a killed worker's file is taken over, a living one's is not") {
    const Scratch to;
    const std::string old = to.write(".x.stagecast.42.0", "half");
    SECTION("left behind") {
        CHECK(stage_new(to, "x", Existing::overwrite) == "ok");
        CHECK(to.names() == Names{"x"});
    }
    SECTION("at work") {
        const UniqueFd colleague{::open(old.c_str(), O_RDWR)};
        REQUIRE(::flock(colleague.get(), LOCK_EX) == 0);
        CHECK_THAT(stage_new(to, "x", Existing::overwrite), Contains("is in the way"));
        CHECK(content_of(old) == "half");
    }
}

TEST_CASE("another member at work in the same directory means that it is shared") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{
        {.source = from.write("a", "content"), .root = to.path(), .below = "x"}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    const std::uint32_t other = GENERATE(1U, 3U);
    FileSink first{test::sink_config(specs, "", 0, 4)};
    FileSink second{test::sink_config(specs, "", other, 4)};
    REQUIRE(test::put(first, 0, (*blocks)[0]));
    const auto placing = test::put(second, 0, (*blocks)[0]);
    REQUIRE_FALSE(placing);
    CHECK_THAT(placing.error().sentence(), Contains("other nodes of the job share"));
}

TEST_CASE("a name taken during the stage is treated like an existing one") {
    const Scratch from;
    const Scratch to;
    const auto existing = GENERATE(Existing::refuse, Existing::keep, Existing::overwrite);
    const std::vector<Spec> specs{{.source = from.write("a", "content"),
                                   .root = to.path(),
                                   .below = "x",
                                   .existing = existing}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    std::string answer;
    const std::string newcomer = GENERATE("other", "content", "unequal");
    {
        FileSink sink{test::sink_config(specs)};
        REQUIRE(test::put(sink, 0, (*blocks)[0]));
        REQUIRE(test::put(sink, 1, (*blocks)[1]));
        to.write("x", newcomer);
        answer = said(sink.finish());
    }
    const bool is_fine = existing != Existing::refuse || newcomer == "content";
    CHECK(answer.starts_with("ok") == is_fine);
    CHECK(content_of(to.path("x")) == (existing == Existing::overwrite ? "content" : newcomer));
    CHECK(to.names() == Names{"x"});
}

TEST_CASE("an existing file that is removed during the stage is reported") {
    const Scratch from;
    const Scratch to;
    const auto existing = GENERATE(Existing::refuse, Existing::keep);
    const std::vector<Spec> specs{{.source = from.write("a", "content"),
                                   .root = to.path(),
                                   .below = "x",
                                   .existing = existing}};
    const auto blocks = test::object_of(specs);
    to.write("x", "content");
    FileSink sink{test::sink_config(specs)};
    REQUIRE(test::put(sink, 0, blocks[0]));
    REQUIRE(test::put(sink, 1, blocks[1]));
    REQUIRE(::unlink(to.path("x").c_str()) == 0);
    CHECK_THAT(sink.finish().error().sentence(),
               Contains("/x: was removed or replaced while it was staged"));
    CHECK(to.names().empty());
}

TEST_CASE("a pipe that is made during the stage is not replaced") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{{.source = from.write("a", "content"),
                                   .root = to.path(),
                                   .below = "x",
                                   .existing = Existing::overwrite}};
    const auto blocks = test::object_of(specs);
    {
        FileSink sink{test::sink_config(specs)};
        REQUIRE(test::put(sink, 0, blocks[0]));
        REQUIRE(test::put(sink, 1, blocks[1]));
        REQUIRE(::mkfifo(to.path("x").c_str(), 0600) == 0);
        CHECK_THAT(sink.finish().error().sentence(),
                   Contains("/x: exists already and is no regular file"));
    }
    CHECK(to.names() == Names{"x"});
}

TEST_CASE("set-id bits are dropped where the owner can't be kept", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    const std::string source = from.write("a", "x");
    REQUIRE(::chown(source.c_str(), 1234, 1235) == 0);
    REQUIRE(::chmod(source.c_str(), 06755) == 0);
    REQUIRE(::chmod(from.path().c_str(), 0755) == 0);
    REQUIRE(::chmod(to.path().c_str(), 0777) == 0);
    const std::vector<Spec> specs{{.source = source, .root = to.path(), .below = "x"}};
    struct stat status {};
    REQUIRE(said(test::stage_all(specs)) == "ok");
    REQUIRE(::stat(to.path("x").c_str(), &status) == 0);
    CHECK(status.st_uid == 1234);
    CHECK(status.st_gid == 1235);
    CHECK((status.st_mode & 07777U) == 06755U);
    REQUIRE(test::in_child([&] {
                return test::become_nobody() ? said(test::stage_all(specs)) : "still root";
            }) == "ok");
    REQUIRE(::stat(to.path("x").c_str(), &status) == 0);
    CHECK(status.st_uid == 65534);
    CHECK((status.st_mode & 07777U) == 0755U);
}

TEST_CASE("attributes are kept on a read-only file", "[root]") {
    const Scratch from;
    const Scratch to;
    from.write("tree/a", "x");
    if (!is_root() || ::setxattr(from.path("tree/a").c_str(), "user.of", "mine", 4, 0) != 0 ||
        ::setxattr(from.path("tree").c_str(), "user.of", "mine", 4, 0) != 0) {
        WARN("needs root and a file system with attributes");
        return;
    }
    REQUIRE(::chmod(from.path("tree/a").c_str(), 0444) == 0);
    REQUIRE(::chmod(from.path("tree").c_str(), 0555) == 0);
    REQUIRE(::chmod(from.path("").c_str(), 0755) == 0);
    REQUIRE(::chown(to.path().c_str(), 65534, 65534) == 0);
    const std::vector<Spec> specs{
        {.source = from.path("tree"), .root = to.path(), .below = "x"},
        {.source = from.path("tree/a"), .root = to.path(), .below = "y"}};
    REQUIRE(test::in_child([&] {
                return test::become_nobody() ? said(test::stage_all(specs)) : "still root";
            }) == "ok");
    for (const char* one : {"x", "x/a", "y"}) {
        std::array<char, 8> value{};
        CAPTURE(one);
        CHECK(::getxattr(to.path(one).c_str(), "user.of", value.data(), value.size()) == 4);
        CHECK((test::status_of(to.path(one)).st_mode & 0222U) == 0);
    }
}

TEST_CASE("inherited group and ACL are cleared from files and trees", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    from.write("tree/a", "x");
    for (const char* one : {"", "tree", "tree/a"}) {
        REQUIRE(::chown(from.path(one).c_str(), 65534, 65534) == 0);
        REQUIRE(::chmod(from.path(one).c_str(), *one == '\0' ? 0755 : 0750) == 0);
    }
    const std::string source = from.path(GENERATE("tree/a", "tree"));
    const std::vector<Spec> specs{{.source = source, .root = to.path(), .below = "x"}};
    const auto stage_as_nobody = [&] {
        return test::in_child([&] {
            return test::become_nobody() ? said(test::stage_all(specs)) : "still root";
        });
    };
    const std::string path = to.path("x");
    SECTION("its group") {
        REQUIRE(::chown(to.path().c_str(), 0, 4242) == 0);
        REQUIRE(::chmod(to.path().c_str(), 02777) == 0);
        REQUIRE(stage_as_nobody() == "ok");
        CHECK(test::status_of(path).st_gid == 65534);
    }
    SECTION("its ACL") {
        REQUIRE(::chmod(to.path().c_str(), 0777) == 0);
        // user::rwx user:1234:rwx group::rwx mask::rwx other::rwx
        const std::array<unsigned char, 44> acl{
            2, 0,   0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  7,
            0, 210, 4,   0,   0,   4,   0,  7, 0,   255, 255, 255, 255, 16, 0,
            7, 0,   255, 255, 255, 255, 32, 0, 7,   0,   255, 255, 255, 255};
        if (::setxattr(
                to.path().c_str(), "system.posix_acl_default", acl.data(), acl.size(), 0) !=
            0) {
            WARN("the scratch directory has no ACLs");
            return;
        }
        REQUIRE(stage_as_nobody() == "ok");
        CHECK(::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) < 0);
        CHECK(::getxattr(path.c_str(), "system.posix_acl_default", nullptr, 0) < 0);
    }
    CHECK((test::status_of(path).st_mode & 07777U) == 0750U);
}

TEST_CASE("destinations that can't be written are reported with the cause", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    const std::string source = from.write("a", test::noise(3000));
    REQUIRE(::chmod(from.path().c_str(), 0755) == 0);
    REQUIRE(::chmod(to.path().c_str(), 0755) == 0);
    const auto try_it = [&](const std::string& root) {
        return said(test::stage_all({{.source = source, .root = root, .below = "x"}}));
    };
    SECTION("read-only") {
        const std::string small = to.path("small");
        const std::string answer = test::in_child([&] {
            return test::mount_small(small, 1U << 20U) && test::remount_read_only(small)
                       ? try_it(small)
                       : "no mounts";
        });
        CHECK_THAT(answer, Contains("small/x: Read-only file system; choose"));
    }
    SECTION("not the user's") {
        const std::string answer = test::in_child(
            [&] { return test::become_nobody() ? try_it(to.path()) : "still root"; });
        CHECK_THAT(answer, Contains("/x: Permission denied; choose"));
    }
    SECTION("larger than the user's limit") {
        const std::string answer = test::in_child([&]() -> std::string {
            const rlimit limit{2000, 2000};
            std::signal(SIGXFSZ, SIG_IGN);
            return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 ? try_it(to.path()) : "no limit";
        });
        CHECK_THAT(answer, Contains("/x: File too large"));
    }
    CHECK(to.names().empty());
}

TEST_CASE("a program is not staged to where none can be executed", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    const std::string program = from.write("program", "x");
    const std::string answer = test::in_child([&]() -> std::string {
        const std::string place = to.path("noexec");
        if (!test::mount_small(place, 1U << 20U) ||
            ::mount(nullptr, place.c_str(), nullptr, MS_REMOUNT | MS_NOEXEC, nullptr) != 0) {
            return "no mounts";
        }
        const Spec plain{.source = program, .root = place, .below = "x"};
        Spec with_libraries = plain;
        with_libraries.is_of_program = true;
        return said(test::stage_all({plain})) + "; " + said(test::stage_all({with_libraries}));
    });
    CHECK_THAT(
        answer,
        Catch::StartsWith("ok; ") && Contains("noexec/x: its file system is mounted noexec"));
}

TEST_CASE("shared file systems are recognised by their type") {
    CHECK(network_file_system(0x6969) == "NFS");
    CHECK(network_file_system(0x0BD00BD0) == "Lustre");
    CHECK(network_file_system(0xEF53).empty());
    CHECK(network_file_system(0x01021994).empty());
}

TEST_CASE("temporary names are legal for every legal name") {
    const Writer writer{.job = "42", .rank = 7, .group_size = 8};
    TargetDirectory own;
    CHECK(temporary_name(own, "x", writer, 7) == ".x.stagecast.42.7");
    const std::string longest(255, 'n');
    CHECK(temporary_name(own, longest, writer, 7).size() < 143);  // What eCryptfs takes.
    const std::string neighbour = longest.substr(1) + 'm';
    CHECK(temporary_name(own, neighbour, writer, 7) != temporary_name(own, longest, writer, 7));
    CHECK(hidden_name(neighbour, ".part") != hidden_name(longest, ".part"));
    CHECK(hidden_name(std::string(80, 'n'), ".part") == '.' + std::string(80, 'n') + ".part");
    std::string wide;
    for (int i = 0; i < 80; ++i) {
        wide += "\u6587";
    }
    const std::string cut = hidden_name(wide, ".part");
    CHECK(cut.find('~') % 3 == 1);  // A whole number of characters.
}

TEST_CASE("where others may write, a temporary name tells the group alone what it is for") {
    const std::array<std::byte, 32> key{std::byte{7}};
    const Writer writer{.job = "42", .rank = 0, .group_size = 2, .secret = name_secret(key)};
    const Writer neighbour{.job = "42", .rank = 1, .group_size = 2, .secret = name_secret(key)};
    Writer outsider = writer;
    outsider.secret = {};
    const Scratch to;
    const auto open = [&to](mode_t mode, uid_t owner) {
        REQUIRE(::chmod(to.path().c_str(), mode) == 0);
        REQUIRE((owner == ::geteuid() || ::chown(to.path().c_str(), owner, owner) == 0));
        Result<TargetDirectory> directory =
            open_target_directory({.root = to.path(), .below = "x"});
        REQUIRE(directory);
        return *std::move(directory);
    };
    CHECK(temporary_name(open(0755, ::geteuid()), "x", writer, 0) == ".x.stagecast.42.0");
    for (const mode_t mode : {01777U, 0775U, 03770U}) {
        const TargetDirectory directory = open(mode, ::geteuid());
        const std::string name = temporary_name(directory, "secret", writer, 0);
        CHECK_THAT(name, !Contains("secret") && Catch::Matchers::EndsWith(".stagecast.42.0"));
        CHECK(name == temporary_name(directory, "secret", neighbour, 0));
        CHECK(name != temporary_name(directory, "secret", outsider, 0));
        CHECK(name != temporary_name(directory, "other", writer, 0));
    }
    if (::geteuid() == 0) {
        CHECK_THAT(temporary_name(open(0755, 4242), "secret", writer, 0), !Contains("secret"));
    }
}

}  // namespace stage

// Tests that a push brings no set-id bits, owners or ACLs, and follows no link.
#include "stager/files/manifest/attributes.h"
#include "stager/files/source/tree_walk.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <span>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::said;
using test::Scratch;
using test::status_of;
using Names = std::vector<std::string>;

void set_mode(const std::string& path, mode_t mode) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
}

std::string pushing(const std::string& from, const std::string& root) {
    return said(
        test::stage_all({{.source = from, .root = root, .below = "x", .keeps_owners = false}}));
}

mode_t mode_of(const std::string& path) {
    return status_of(path).st_mode & 07777U;
}

std::vector<std::byte> walked(const std::string& path, bool is_ownerless) {
    const UniqueFd top{::open(path.c_str(), O_PATH | O_DIRECTORY)};
    const Result<WalkedTree> tree = walk_tree(top, path, {.is_ownerless = is_ownerless});
    REQUIRE(tree);
    return {tree->index.bytes().begin(), tree->index.bytes().end()};
}

}  // namespace

TEST_CASE("a file with set-id bits is refused where owners are not kept") {
    const mode_t mode = GENERATE(mode_t{04755}, mode_t{02755}, mode_t{06711});
    const Scratch from;
    const Scratch to;
    const std::string file = from.write("s", "x");
    from.write("t/a/b", "y");
    const std::string deep = from.write("t/a/s", "x");
    set_mode(file, mode);
    set_mode(deep, mode);
    CHECK_THAT(pushing(file, to.path()),
               Contains("/x: has the set-user-id") && Contains("set PushSetId=yes"));
    CHECK_THAT(pushing(from.path("t"), to.path()),
               Contains("a file in " + to.path("x") + ": has the set-user-id"));
    CHECK(to.names() == Names{});
    CHECK(said(test::stage_all({{.source = file, .root = to.path(), .below = "x"}})) == "ok");
    CHECK(mode_of(to.path("x")) == mode);
}

TEST_CASE("set-id bits that a source's manifest conceals are found in the index") {
    const Scratch from;
    const Scratch to;
    set_mode(from.write("t/a/s", "x"), 04755);
    const std::vector<test::Spec> specs{
        {.source = from.path("t"), .root = to.path(), .below = "x", .keeps_owners = false}};
    auto blocks = test::object_of(specs);
    auto manifest = decode_manifest(blocks[0]);
    REQUIRE(manifest);
    CHECK((manifest->entries.at(0).mode & kSetIdBits) == 04000);
    manifest->entries.at(0).mode = 0755;
    blocks[0] = encode_manifest(*manifest);
    {
        FileSink sink{test::sink_config(specs)};
        CHECK_THAT(said(test::deliver(blocks, sink, 1)),
                   Contains("/x/a/s: has the set-user-id"));
    }
    CHECK(to.names() == Names{});
}

TEST_CASE("pushed files are root's, and a directory's set-group-id bit is dropped", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    const std::string file = from.write("t/d/file", "x");
    REQUIRE(::symlink("d/file", from.path("t/link").c_str()) == 0);
    for (const char* path : {"t", "t/d", "t/d/file", "t/link"}) {
        REQUIRE(::lchown(from.path(path).c_str(), 2001, 2002) == 0);
    }
    set_mode(file, 0640);
    set_mode(from.path("t/d"), 02775);
    REQUIRE(pushing(from.path("t"), to.path()) == "ok");
    for (const char* path : {"x", "x/d", "x/d/file", "x/link"}) {
        CHECK(status_of(to.path(path)).st_uid == 0);
        CHECK(status_of(to.path(path)).st_gid == 0);
    }
    CHECK(walked(from.path("t"), true) == walked(to.path("x"), true));
    CHECK(walked(from.path("t"), false) != walked(to.path("x"), false));
    CHECK(mode_of(to.path("x/d")) == 0775);
    CHECK(mode_of(to.path("x/d/file")) == 0640);
    REQUIRE(pushing(file, to.path("x/d")) == "ok");
    CHECK(status_of(to.path("x/d/x")).st_uid == 0);
}

TEST_CASE("without its owner a file has the group's own rights, not an ACL's mask") {
    // user::rw-, user:2001:rwx, group::r--, mask::rwx, other::---
    constexpr std::array<unsigned char, 44> kAcl{2,    0, 0, 0,                          //
                                                 1,    0, 6, 0, 0xff, 0xff, 0xff, 0xff,  //
                                                 2,    0, 7, 0, 0xd1, 7,    0,    0,     //
                                                 4,    0, 4, 0, 0xff, 0xff, 0xff, 0xff,  //
                                                 0x10, 0, 7, 0, 0xff, 0xff, 0xff, 0xff,  //
                                                 0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
    const Bytes acl = std::as_bytes(std::span{kAcl});
    TreeNode node;
    node.mode = 01670;
    node.uid = 2001;
    node.gid = 2002;
    node.attributes = {{.name = "system.posix_acl_access", .value = {acl.begin(), acl.end()}},
                       {.name = "user.kept", .value = {std::byte{1}}}};
    const TreeNode plain = without_owner(node);
    CHECK(plain.uid == 0);
    CHECK(plain.gid == 0);
    CHECK(plain.mode == 01640);
    REQUIRE(plain.attributes.size() == 1);
    CHECK(plain.attributes[0].name == "user.kept");
}

TEST_CASE("below a guarded root nothing is made that another user placed or leads elsewhere",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    const std::string file = from.write("a", "x");
    const auto push_to = [&](const std::string& root) {
        return said(test::stage_all(
            {{.source = file, .root = root, .below = "a", .guarded_by = "PushRoots"}}));
    };
    const std::string good = to.path("good");
    REQUIRE(::mkdir(good.c_str(), 0755) == 0);
    CHECK(push_to(good) == "ok");
    REQUIRE(::symlink(good.c_str(), to.path("link").c_str()) == 0);
    CHECK_THAT(push_to(to.path("link")), Contains("PushRoots: ") && Contains("symbolic link"));
    REQUIRE(::mkdir(to.path("alices").c_str(), 0755) == 0);
    REQUIRE(::chown(to.path("alices").c_str(), 2001, 2001) == 0);
    CHECK_THAT(push_to(to.path("alices")), Contains("does not belong to root"));
    CHECK(::rmdir(to.path("alices").c_str()) == 0);
}

}  // namespace stage

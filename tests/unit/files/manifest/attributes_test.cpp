// Tests which rights and attributes are kept.
#include "stager/files/manifest/attributes.h"

#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace stage {

TEST_CASE("the group's own rights are read from an ACL, not its mask") {
    // user::rw- user:65534:rwx group::--- mask::rwx other::---
    const std::array<unsigned char, 44> acl{
        2, 0,   0,   0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,  7,
        0, 254, 255, 0,   0,   4,   0,  0, 0,   255, 255, 255, 255, 16, 0,
        7, 0,   255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};
    const Bytes bytes = std::as_bytes(std::span{acl});
    CHECK(group_rights(bytes) == 0U);
    CHECK_FALSE(group_rights(bytes.first(43)));
    CHECK_FALSE(group_rights({}));
}

TEST_CASE("only a file made with its final mode needs no second call") {
    const Maker maker{.uid = 5, .gid = 6, .umask = 0022};
    TreeNode node;
    node.uid = 5;
    node.gid = 6;
    node.mode = 0755;
    CHECK(maker.makes(node));
    for (const auto spoil : {+[](TreeNode& one) { one.uid = 6; },
                             +[](TreeNode& one) { one.gid = 5; },
                             +[](TreeNode& one) { one.mode = 0775; },
                             +[](TreeNode& one) { one.mode = 04755; },
                             +[](TreeNode& one) { one.attributes.resize(1); }}) {
        TreeNode other = node;
        spoil(other);
        CHECK_FALSE(maker.makes(other));
    }
    const mode_t before = ::umask(0027);
    CHECK(Maker::self().umask == 0027);
    ::umask(before);
    CHECK(Maker::self().umask == before);
    CHECK(Maker::self().uid == ::geteuid());
}

TEST_CASE("an attribute without space is skipped, and the others stay") {
    const test::Scratch scratch;
    const UniqueFd file{::open(scratch.write("f", "x").c_str(), O_RDWR | O_CLOEXEC)};
    TreeNode node;
    // More than the kernel accepts for any file system; ext4's limit is much lower.
    node.attributes = {
        {.name = "user.large", .value = std::vector<std::byte>(kMaxAttributeBytes + 1)},
        {.name = "user.small", .value = std::vector<std::byte>(3)}};
    CHECK(keep_user_attributes(file.get(), node));
    for (const TreeAttribute& kept : read_attributes(file.get())) {
        CHECK(kept == node.attributes[1]);
    }
}

TEST_CASE("only attributes that a user may set are staged") {
    CHECK(is_carried("user.colour"));
    CHECK(is_carried("system.posix_acl_access"));
    CHECK(is_carried("system.posix_acl_default"));
    CHECK_FALSE(is_carried("user."));
    CHECK_FALSE(is_carried("security.capability"));
    CHECK_FALSE(is_carried("trusted.overlay.opaque"));
    CHECK_FALSE(is_carried(std::string("user.a\0b", 8)));
}

}  // namespace stage

// What may a group do where an ACL can't be kept?
#include "stager/files/attributes.h"

#include <catch2/catch.hpp>

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

TEST_CASE("only what a user may hand on is carried") {
    CHECK(is_carried("user.colour"));
    CHECK(is_carried("system.posix_acl_access"));
    CHECK(is_carried("system.posix_acl_default"));
    CHECK_FALSE(is_carried("user."));
    CHECK_FALSE(is_carried("security.capability"));
    CHECK_FALSE(is_carried("trusted.overlay.opaque"));
    CHECK_FALSE(is_carried(std::string("user.a\0b", 8)));
}

}  // namespace stage

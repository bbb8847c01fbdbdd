#include "stager/files/target/file_compare.h"

#include "tests/unit/files/scratch.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <cerrno>
#include <string>

namespace stage {
namespace {

/// A file of 8 bytes that has a hole from byte 2 to byte 6: "ab", "gh" are sent.
TreeNode sparse_node() {
    TreeNode node;
    node.kind = TreeKind::sparse;
    node.size = 8;
    node.extents = {{.offset = 0, .length = 2}, {.offset = 6, .length = 2}};
    return node;
}

UniqueFd opened(const test::Scratch& here, const std::string& content) {
    return UniqueFd{::open(here.write("a", content).c_str(), O_RDONLY | O_CLOEXEC)};
}

const std::string kHole(4, '\0');

}  // namespace

TEST_CASE("an existing file's bytes are compared where the source's belong") {
    const test::Scratch here;
    const UniqueFd file = opened(here, "ab" + kHole + "gh");
    CHECK(has_bytes(file.get(), sparse_node(), 0, as_bytes("abgh")) == true);
    CHECK(has_bytes(file.get(), sparse_node(), 2, as_bytes("gh")) == true);
    CHECK(has_bytes(file.get(), sparse_node(), 0, as_bytes("abgx")) == false);
    CHECK(has_bytes(file.get(), sparse_node(), 2, as_bytes("ab")) == false);
}

TEST_CASE("a shorter file differs") {
    const test::Scratch here;
    const UniqueFd file = opened(here, "ab");
    CHECK(has_bytes(file.get(), sparse_node(), 0, as_bytes("abgh")) == false);
}

TEST_CASE("an existing file may have only zeros in the source's holes") {
    const test::Scratch here;
    CHECK(has_holes(opened(here, "ab" + kHole + "gh").get(), sparse_node()) == true);
    CHECK(has_holes(opened(here, "abcd" + kHole).get(), sparse_node()) == false);
    TreeNode plain = sparse_node();
    plain.kind = TreeKind::file;
    CHECK(has_holes(opened(here, "abcdefgh").get(), plain) == true);
}

TEST_CASE("a file that cannot be read is neither the same nor different") {
    CHECK_FALSE(has_bytes(-1, sparse_node(), 0, as_bytes("abgh")));
    CHECK(errno == EBADF);
    CHECK_FALSE(has_holes(-1, sparse_node()));
    CHECK(errno == EBADF);
}

}  // namespace stage

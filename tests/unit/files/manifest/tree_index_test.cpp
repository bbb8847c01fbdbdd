// Tests that an index describes a tree, and that a forged one is refused.
#include "stager/files/manifest/tree_index.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

TreeNode directory(std::uint32_t parent, const std::string& name) {
    TreeNode node;
    node.parent = parent;
    node.name = name;
    node.mode = 0755;
    return node;
}

TreeNode file(std::uint32_t parent, const std::string& name, std::uint64_t size) {
    TreeNode node = directory(parent, name);
    node.kind = TreeKind::file;
    node.size = size;
    return node;
}

TreeNode sparse(std::uint32_t parent,
                const std::string& name,
                std::uint64_t size,
                std::vector<TreeExtent> extents) {
    TreeNode node = file(parent, name, size);
    node.kind = TreeKind::sparse;
    node.extents = std::move(extents);
    return node;
}

TreeNode link(std::uint32_t parent, const std::string& name, const std::string& text) {
    TreeNode node = directory(parent, name);
    node.kind = TreeKind::symlink;
    node.text = text;
    return node;
}

TreeNode hard_link(std::uint32_t parent, const std::string& name, std::uint32_t original) {
    TreeNode node;
    node.kind = TreeKind::hard_link;
    node.parent = parent;
    node.name = name;
    node.original = original;
    return node;
}

TreeNode with_attribute(TreeNode node, const std::string& name, std::size_t bytes) {
    node.attributes.push_back({.name = name, .value = std::vector<std::byte>(bytes)});
    return node;
}

/// An index of these below a top; CHECKs that each of them is taken.
TreeIndex index_of(const std::vector<TreeNode>& nodes) {
    TreeIndex index;
    REQUIRE(index.add(directory(0, "")));
    for (const TreeNode& node : nodes) {
        REQUIRE(index.add(node));
    }
    return index;
}

std::vector<std::byte> bytes_of(const TreeIndex& index) {
    return {index.bytes().begin(), index.bytes().end()};
}

/// Encoded as they stand, with no question asked.
std::vector<std::byte> forged(const std::vector<TreeNode>& nodes) {
    ByteWriter writer;
    std::uint64_t data = 0;
    for (const TreeNode& node : nodes) {
        data += node.data_bytes();
    }
    writer.u32(0x53435449).u32(1U << 24U).u32(static_cast<std::uint32_t>(nodes.size()));
    writer.u64(data);
    for (const TreeNode& node : nodes) {
        put_node(writer, node);
    }
    return writer.take();
}

bool is_refused(const std::vector<TreeNode>& below) {
    std::vector<TreeNode> nodes{directory(0, "")};
    nodes.insert(nodes.end(), below.begin(), below.end());
    TreeIndex index;
    bool is_taken = true;
    for (const TreeNode& node : nodes) {
        is_taken = is_taken && index.add(node).ok();
    }
    const bool is_decoded = TreeIndex::decode(forged(nodes)).ok();
    CHECK(is_decoded == is_taken);
    return !is_decoded;
}

}  // namespace

TEST_CASE("an index is decoded as it was encoded, node for node") {
    TreeNode odd = with_attribute(file(1, "f", 5), "user.colour", 3);
    odd.mode = 06711;
    odd.uid = 4'000'000'000;
    odd.gid = 7;
    odd.mtime = {-5, 999'999'999};
    const std::vector<TreeNode> nodes{directory(0, "d"),
                                      link(0, "l", "/no/where"),
                                      odd,
                                      hard_link(1, "g", 3),
                                      sparse(1, "s", 1000, {{.offset = 10, .length = 20}})};
    const TreeIndex index = index_of(nodes);
    const Result<TreeIndex> back = TreeIndex::decode(bytes_of(index));
    REQUIRE(back);
    REQUIRE(back->size() == nodes.size() + 1);
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        CHECK(back->node(i + 1) == nodes[i]);
        CHECK(back->kind(i + 1) == nodes[i].kind);
    }
    CHECK(back->path(0).empty());
    CHECK(back->path(3) == "d/f");
    CHECK(back->data_bytes() == 25);
    CHECK(back->inodes() == 5);
    CHECK(back->room() == index.room());
    CHECK(back->room() == 4 * 4096);  // Two directories, two files.
}

TEST_CASE("every byte of the data has one owner") {
    const TreeIndex index = index_of({file(0, "a", 3),
                                      file(0, "b", 0),
                                      sparse(0, "c", 100, {{5, 2}, {50, 4}}),
                                      sparse(0, "d", 100, {}),
                                      file(0, "e", 1)});
    REQUIRE(index.data_bytes() == 10);
    const std::vector<std::pair<std::uint32_t, std::uint64_t>> owners{
        {1, 0}, {1, 1}, {1, 2}, {3, 5}, {3, 6}, {3, 50}, {3, 51}, {3, 52}, {3, 53}, {5, 0}};
    for (std::size_t from = 0; from <= owners.size(); ++from) {
        for (std::size_t to = from; to <= owners.size(); ++to) {
            std::size_t at = from;
            for (const TreePiece& piece : index.pieces(from, to - from)) {
                CHECK(piece.begin == at - from);
                REQUIRE(piece.length > 0);
                for (std::size_t i = 0; i < piece.length; ++i, ++at) {
                    REQUIRE(at < to);
                    CHECK(piece.node == owners[at].first);
                    CHECK(piece.offset + i == owners[at].second);
                }
            }
            CHECK(at == to);
        }
    }
}

TEST_CASE("names may be any bytes that do not lead elsewhere") {
    std::vector<TreeNode> nodes;
    for (unsigned c = 1; c < 256; ++c) {
        const std::string name(1, static_cast<char>(c));
        if (name != "/" && name != ".") {
            nodes.push_back(file(0, name, 0));
        }
    }
    nodes.push_back(file(0, std::string(255, '\xff'), 0));
    CHECK_FALSE(is_refused(nodes));
    for (const std::string& name : {std::string{"."},
                                    std::string{".."},
                                    std::string{},
                                    std::string{"a/b"},
                                    std::string{"/"},
                                    std::string{"a\0b", 3}}) {
        CAPTURE(name);
        CHECK(is_refused({file(0, name, 0)}));
        CHECK(is_refused({directory(0, name)}));
        CHECK(is_refused({link(0, name, "x")}));
    }
}

TEST_CASE("a hostile index is refused") {
    CHECK_FALSE(is_refused({}));
    CHECK(is_refused({file(0, "a", 0), file(0, "a", 0)}));
    CHECK(is_refused({file(0, "b", 0), file(0, "a", 0)}));
    CHECK(is_refused({directory(0, "a"), link(0, "a", "/etc")}));
    CHECK(is_refused({link(0, "a", "/etc"), file(1, "passwd", 0)}));
    CHECK(is_refused({file(0, "a", 0), file(1, "b", 0)}));
    CHECK(is_refused({file(2, "b", 0), directory(0, "c")}));
    CHECK(is_refused({directory(0, "a"), file(1, "b", 0), file(0, "c", 0)}));
    CHECK(is_refused({file(1, "self", 0)}));
    CHECK(is_refused({directory(1, "self")}));
    CHECK(is_refused({hard_link(0, "h", 0)}));
    CHECK(is_refused({hard_link(0, "h", 1)}));
    CHECK(is_refused({hard_link(0, "h", 2), file(0, "i", 1)}));
    CHECK(is_refused({link(0, "a", "x"), hard_link(0, "h", 1)}));
    CHECK(is_refused({link(0, "a", "")}));
    CHECK(is_refused({link(0, "a", std::string(4096, 'x'))}));
    CHECK(is_refused({file(0, "a", 1ULL << 63U)}));
    CHECK(is_refused({file(0, "a", kMaxTreeBytes), file(0, "b", 1)}));
    CHECK(is_refused({sparse(0, "s", 10, {{8, 3}})}));
    CHECK(is_refused({sparse(0, "s", 10, {{11, 1}})}));
    CHECK(is_refused({sparse(0, "s", 10, {{3, 0}})}));
    CHECK(is_refused({sparse(0, "s", 10, {{3, 2}, {5, 1}})}));
    CHECK(is_refused({sparse(0, "s", 10, {{3, 2}, {1, 1}})}));
    CHECK(is_refused({sparse(0, "s", 10, {{3, ~0ULL}})}));
    CHECK_FALSE(is_refused({with_attribute(file(0, "a", 0), "user.x", 9)}));
    CHECK(is_refused({with_attribute(file(0, "a", 0), "security.capability", 9)}));
    CHECK(is_refused({with_attribute(file(0, "a", 0), "trusted.x", 9)}));
    CHECK(is_refused(
        {with_attribute(with_attribute(file(0, "a", 0), "user.x", 9), "user.x", 9)}));
    TreeNode late = file(0, "a", 0);
    late.mtime.nanoseconds = 1'000'000'000;
    CHECK(is_refused({late}));
    late = file(0, "a", 0);
    late.mode = 010000;
    CHECK(is_refused({late}));
}

TEST_CASE("the depth of a tree is limited") {
    std::vector<TreeNode> nodes;
    for (std::uint32_t depth = 0; depth < kMaxTreeDepth; ++depth) {
        nodes.push_back(directory(depth, "d"));
    }
    nodes.push_back(file(kMaxTreeDepth, "f", 0));
    CHECK_FALSE(is_refused(nodes));
    nodes.back() = directory(kMaxTreeDepth, "d");
    CHECK(is_refused(nodes));
}

TEST_CASE("a truncated, too long or miscounted index is refused") {
    const std::vector<std::byte> whole =
        bytes_of(index_of({file(0, "a", 3), link(0, "b", "text")}));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CHECK_FALSE(TreeIndex::decode({whole.begin(), whole.begin() + std::ptrdiff_t(length)}));
    }
    std::vector<std::byte> longer = whole;
    longer.push_back(std::byte{0});
    CHECK_FALSE(TreeIndex::decode(longer));
    for (const std::size_t at : {0U, 4U, 11U, 19U}) {  // Magic, version, nodes, data.
        std::vector<std::byte> other = whole;
        other[at] ^= std::byte{1};
        CHECK_FALSE(TreeIndex::decode(other));
    }
    CHECK_FALSE(TreeIndex::decode(forged({})));
    CHECK_FALSE(TreeIndex::decode(forged({file(0, "", 3)})));
}

}  // namespace stage

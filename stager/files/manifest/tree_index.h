// Lists the members of a staged directory tree, and maps its data bytes to its files.
//
// The index is sent before the data. It contains all nodes, the top first, then directory after
// directory, with the members of each directory together and sorted by name:
//
//     index:  magic u32 | version u8 | reserved u24 | nodes u32 | data u64
//             then that many nodes (tree_node.h)
//
// A node names its directory by the position of that one in the index, which is smaller than
// its own. The order thus excludes paths that lead out, members below a link, and duplicate
// names. The data of all files follow one another without a gap, in the index's order.
//
// Under protection `none` any host can forge an index, so decoding trusts nothing.
#pragma once

#include "stager/files/manifest/tree_node.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kTreeHeadBytes = 20;
inline constexpr std::uint32_t kMaxTreeNodes = 4U << 20U;
inline constexpr std::uint16_t kMaxTreeDepth = 1024;  ///< Nested directories.

/// A contiguous range of the data that belongs to one file.
struct TreePiece {
    std::uint32_t node = 0;
    std::uint64_t offset = 0;  ///< In the file.
    std::size_t begin = 0;     ///< In the requested range.
    std::size_t length = 0;
    bool is_whole = false;  ///< It is all data of a file without holes.
};

class TreeIndex {
  public:
    /// The offset at which the data of a file begin.
    struct Start {
        std::uint64_t offset = 0;
        std::uint32_t node = 0;
    };

    TreeIndex();

    /// Fails (Blame::internal) on anything but exactly one index.
    [[nodiscard]] static Result<TreeIndex> decode(std::vector<std::byte> bytes);

    /// From now on node() returns all nodes as root's own (attributes.h); bytes() do not
    /// change.
    void drop_owners() { has_owners_ = false; }

    /// Appends a node. Fails if it is invalid there: too many, too deep, out of order.
    [[nodiscard]] Status add(const TreeNode& node);

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(at_.size()); }
    /// Requires index < size(), as do the functions below.
    [[nodiscard]] TreeNode node(std::uint32_t index) const;
    [[nodiscard]] TreeKind kind(std::uint32_t index) const;
    /// The path below the top, "a/b"; empty for the top.
    [[nodiscard]] std::string path(std::uint32_t index) const;

    /// The data bytes of all files.
    [[nodiscard]] std::uint64_t data_bytes() const { return data_bytes_; }
    /// The disk space, in bytes, and the number of inodes that the tree takes.
    [[nodiscard]] std::uint64_t room() const { return room_; }
    [[nodiscard]] std::uint32_t inodes() const { return inodes_; }
    /// The index as it is sent.
    [[nodiscard]] Bytes bytes() const { return bytes_; }

    /// The files to which the data bytes [offset, offset + length) belong, in order. Requires
    /// that the range lies below data_bytes().
    [[nodiscard]] std::vector<TreePiece> pieces(std::uint64_t offset, std::size_t length) const;

    /// The beginnings of all files that have data, in order.
    [[nodiscard]] const std::vector<Start>& starts() const { return starts_; }

  private:
    [[nodiscard]] std::string_view reason_against_next(const TreeNode& node) const;
    void note(const TreeNode& node, std::size_t at);
    void write_head();

    std::vector<std::byte> bytes_;
    std::vector<std::uint32_t> at_;     ///< By node: its offset in bytes_.
    std::vector<std::uint16_t> depth_;  ///< By node.
    std::vector<Start> starts_;         ///< For files with data.
    std::uint64_t data_bytes_ = 0;
    std::uint64_t room_ = 0;
    std::uint32_t inodes_ = 0;
    bool has_owners_ = true;
    std::uint32_t last_parent_ = 0;
    std::string last_name_;
};

}  // namespace stage

// What is in a staged directory tree, and which byte of its data is whose?
//
// The index goes ahead of the data: all nodes, the top first, then directory after directory,
// each one's members together and by name:
//
//     index:  magic u32 | version u8 | reserved u24 | nodes u32 | data u64
//             then so many nodes (tree_node.h)
//
// A node names its directory by that one's place in the index, which comes before its own. So
// there is no path that could lead out, nothing below a link, and no name twice, by the order
// alone. The data of all files follow one another without a gap, in the index's order.
//
// Under protection `none` anyone can forge an index: decoding trusts nothing.
#pragma once

#include "stager/files/manifest/tree_node.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kTreeHeadBytes = 20;
inline constexpr std::uint32_t kMaxTreeNodes = 4U << 20U;
inline constexpr std::uint16_t kMaxTreeDepth = 1024;  ///< Directories in one another.

/// Bytes of the data that are one file's, in one run.
struct TreePiece {
    std::uint32_t node = 0;
    std::uint64_t offset = 0;  ///< In the file.
    std::size_t begin = 0;     ///< In the range that was asked for.
    std::size_t length = 0;
    bool is_whole = false;  ///< All of the data of a file without holes.
};

class TreeIndex {
  public:
    /// Where the data of a file begin.
    struct Start {
        std::uint64_t offset = 0;
        std::uint32_t node = 0;
    };

    TreeIndex();

    /// Fails (Blame::internal) on anything but exactly one index.
    [[nodiscard]] static Result<TreeIndex> decode(std::vector<std::byte> bytes);

    /// From now on node() gives all of them as root's own (attributes.h); bytes() do not
    /// change.
    void drop_owners() { has_owners_ = false; }

    /// Appends. Fails if the node can't stand there: too many, too deep, out of order.
    [[nodiscard]] Status add(const TreeNode& node);

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(at_.size()); }
    /// Requires index < size(), as all that follow.
    [[nodiscard]] TreeNode node(std::uint32_t index) const;
    [[nodiscard]] TreeKind kind(std::uint32_t index) const;
    /// Below the top, "a/b"; empty for the top.
    [[nodiscard]] std::string path(std::uint32_t index) const;

    /// Of all files together, bytes.
    [[nodiscard]] std::uint64_t data_bytes() const { return data_bytes_; }
    /// What all of it takes of a disk, bytes, and how many inodes.
    [[nodiscard]] std::uint64_t room() const { return room_; }
    [[nodiscard]] std::uint32_t inodes() const { return inodes_; }
    /// As it is sent.
    [[nodiscard]] Bytes bytes() const { return bytes_; }

    /// Whose the data's bytes [offset, offset + length) are, in order. Requires that they are
    /// below data_bytes().
    [[nodiscard]] std::vector<TreePiece> pieces(std::uint64_t offset, std::size_t length) const;

    /// Of all files that have data, in order.
    [[nodiscard]] const std::vector<Start>& starts() const { return starts_; }

  private:
    [[nodiscard]] std::string_view reason_against_next(const TreeNode& node) const;
    void note(const TreeNode& node, std::size_t at);
    void write_head();

    std::vector<std::byte> bytes_;
    std::vector<std::uint32_t> at_;     ///< By node: where in bytes_ it begins.
    std::vector<std::uint16_t> depth_;  ///< By node.
    std::vector<Start> starts_;         ///< Of files with data.
    std::uint64_t data_bytes_ = 0;
    std::uint64_t room_ = 0;
    std::uint32_t inodes_ = 0;
    bool has_owners_ = true;
    std::uint32_t last_parent_ = 0;
    std::string last_name_;
};

}  // namespace stage

// Describes and encodes one member of a staged directory in its tree's index.
//
//     node:  kind u8 | parent u32 | name u8+bytes | hard link: original u32, and no more
//            mode u16 | uid u32 | gid u32 | mtime_seconds u64 (two's complement) |
//            mtime_nanoseconds u32 | attributes u8, each: name u8+bytes, value u32+bytes
//            file: size u64
//            sparse file: size u64 | extents u32, each: offset u64, length u64
//            symbolic link: text u16+bytes
//
// Network byte order (base/codec.h). The rules for a single node are checked here, those
// between nodes in tree_index.h.
#pragma once

#include "stager/files/manifest/manifest.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxLinkTextBytes = 4095;         ///< PATH_MAX.
inline constexpr std::size_t kMaxTreeAttributes = 255;         ///< Per node.
inline constexpr std::size_t kMaxAttributeBytes = 64U << 10U;  ///< XATTR_SIZE_MAX.
inline constexpr std::size_t kMaxTreeExtents = 1U << 18U;      ///< Per file.
inline constexpr std::uint64_t kMaxTreeBytes = 1ULL << 52U;    ///< 2^32 blocks.
inline constexpr std::uint64_t kMaxFileBytes = (1ULL << 63U) - 1;

/// Sent as a number: append only.
enum class TreeKind : std::uint8_t {
    directory = 0,
    file = 1,
    sparse = 2,  ///< A file with holes: only its extents are sent.
    symlink = 3,
    hard_link = 4,  ///< Another name of a file that precedes it.
};

/// A range of a file that is sent.
struct TreeExtent {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    bool operator==(const TreeExtent&) const = default;
};

/// An extended attribute: a "user." one, or a POSIX ACL.
struct TreeAttribute {
    std::string name;
    std::vector<std::byte> value;

    bool operator==(const TreeAttribute&) const = default;
};

struct TreeNode {
    TreeKind kind = TreeKind::directory;
    std::uint32_t parent = 0;  ///< The index of the directory that it is in.
    std::string name;          ///< Any bytes but '/' and NUL; empty for the top.
    std::uint16_t mode = 0;    ///< Permission bits, 07777.
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    FileTime mtime;
    std::vector<TreeAttribute> attributes;  ///< Sorted by name, each once.
    std::uint64_t size = 0;                 ///< For a file.
    std::vector<TreeExtent> extents;        ///< For a sparse file, in order, not adjacent.
    std::string text;                       ///< For a symbolic link.
    std::uint32_t original = 0;             ///< For a hard link, the index of the file.

    [[nodiscard]] bool is_file() const {
        return kind == TreeKind::file || kind == TreeKind::sparse;
    }
    /// The bytes that are sent of it.
    [[nodiscard]] std::uint64_t data_bytes() const;
    /// The most disk space that it takes, bytes, on a disk with 4 KiB blocks.
    [[nodiscard]] std::uint64_t room() const;

    bool operator==(const TreeNode&) const = default;
};

/// A contiguous range of a file's data.
struct FilePiece {
    std::uint64_t offset = 0;  ///< In the file.
    std::size_t begin = 0;     ///< In the requested range.
    std::size_t length = 0;
};

/// Maps the bytes [offset, offset + length) of what is sent of a file to offsets in the file,
/// in order. Requires that they lie below data_bytes().
[[nodiscard]] std::vector<FilePiece> file_pieces(const TreeNode& file,
                                                 std::uint64_t offset,
                                                 std::size_t length);

/// The node that a manifest's entry and its shape describe.
[[nodiscard]] TreeNode node_of(const ManifestEntry& entry);
/// The shape that an entry needs for this file; empty for a plain file.
[[nodiscard]] std::vector<std::byte> shape_of(const TreeNode& file);
/// True if `entry` has no shape, or a valid one of a file with these bytes.
[[nodiscard]] bool has_sound_shape(const ManifestEntry& entry);

/// True for attributes that are staged; all others are neither read nor written.
[[nodiscard]] bool is_carried(std::string_view attribute);

/// Why this node is invalid in any index; empty if it is valid.
[[nodiscard]] std::string_view reason_against(const TreeNode& node);

/// Requires that reason_against() is empty.
void put_node(ByteWriter& writer, const TreeNode& node);
/// Fails the reader unless it contains a valid node.
[[nodiscard]] TreeNode take_node(ByteReader& reader);

}  // namespace stage

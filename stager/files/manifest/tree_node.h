// What is one member of a staged directory, and how does its tree's index say so?
//
//     node:  kind u8 | parent u32 | name u8+bytes | hard link: original u32, and no more
//            mode u16 | uid u32 | gid u32 | mtime_seconds u64 (two's complement) |
//            mtime_nanoseconds u32 | attributes u8, each: name u8+bytes, value u32+bytes
//            file: size u64
//            sparse file: size u64 | extents u32, each: offset u64, length u64
//            symbolic link: text u16+bytes
//
// Network byte order (base/codec.h). Here stands what must hold of a node alone; what holds
// between nodes stands in tree_index.h.
#pragma once

#include "stager/files/manifest/manifest.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxLinkTextBytes = 4095;         ///< PATH_MAX.
inline constexpr std::size_t kMaxTreeAttributes = 255;         ///< Of one node.
inline constexpr std::size_t kMaxAttributeBytes = 64U << 10U;  ///< XATTR_SIZE_MAX.
inline constexpr std::size_t kMaxTreeExtents = 1U << 18U;      ///< Of one file.
inline constexpr std::uint64_t kMaxTreeBytes = 1ULL << 52U;    ///< 2^32 blocks.
inline constexpr std::uint64_t kMaxFileBytes = (1ULL << 63U) - 1;

/// Travels by number: append only.
enum class TreeKind : std::uint8_t {
    directory = 0,
    file = 1,
    sparse = 2,  ///< A file with holes: only its extents are sent.
    symlink = 3,
    hard_link = 4,  ///< Another name of a file that stands before it.
};

/// Bytes of a file that are sent.
struct TreeExtent {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    bool operator==(const TreeExtent&) const = default;
};

/// An extended attribute: one of "user.", or a POSIX ACL.
struct TreeAttribute {
    std::string name;
    std::vector<std::byte> value;

    bool operator==(const TreeAttribute&) const = default;
};

struct TreeNode {
    TreeKind kind = TreeKind::directory;
    std::uint32_t parent = 0;  ///< The directory that it is in, by its place in the index.
    std::string name;          ///< Any bytes but '/' and NUL; empty for the top.
    std::uint16_t mode = 0;    ///< Permission bits, 07777.
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    FileTime mtime;
    std::vector<TreeAttribute> attributes;  ///< By name, each once.
    std::uint64_t size = 0;                 ///< Of a file.
    std::vector<TreeExtent> extents;        ///< Of a sparse file, in order, apart.
    std::string text;                       ///< Of a symbolic link.
    std::uint32_t original = 0;             ///< Of a hard link, by its place in the index.

    [[nodiscard]] bool is_file() const {
        return kind == TreeKind::file || kind == TreeKind::sparse;
    }
    /// What is sent of it, bytes.
    [[nodiscard]] std::uint64_t data_bytes() const;
    /// What it takes of a disk at most, bytes, as disks of 4 KiB blocks count.
    [[nodiscard]] std::uint64_t room() const;

    bool operator==(const TreeNode&) const = default;
};

/// Bytes of a file's data that lie in one run.
struct FilePiece {
    std::uint64_t offset = 0;  ///< In the file.
    std::size_t begin = 0;     ///< In the range that was asked for.
    std::size_t length = 0;
};

/// Where the bytes [offset, offset + length) of what is sent of a file lie in it, in order.
/// Requires that they are below data_bytes().
[[nodiscard]] std::vector<FilePiece> file_pieces(const TreeNode& file,
                                                 std::uint64_t offset,
                                                 std::size_t length);

/// What a manifest says of a file: its entry, and its shape if it has one.
[[nodiscard]] TreeNode node_of(const ManifestEntry& entry);
/// The shape that an entry needs for this file: none if it is a plain one.
[[nodiscard]] std::vector<std::byte> shape_of(const TreeNode& file);
/// `entry` has no shape, or that of a file with its bytes.
[[nodiscard]] bool has_sound_shape(const ManifestEntry& entry);

/// Attributes that are carried: no others come from or get to a disk.
[[nodiscard]] bool is_carried(std::string_view attribute);

/// Why this node can't stand in an index, whatever its neighbours; empty if it can.
[[nodiscard]] std::string_view reason_against(const TreeNode& node);

/// Requires that there is no reason against it.
void put_node(ByteWriter& writer, const TreeNode& node);
/// Fails the reader unless it is a node that nothing speaks against.
[[nodiscard]] TreeNode take_node(ByteReader& reader);

}  // namespace stage

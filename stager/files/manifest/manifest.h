// Describes the files of an object and the blocks that each of them occupies.
//
// The first blocks of an object are its manifest. Each file follows, starting on a block
// boundary; all its blocks but the last are full. An empty file has no block. A directory tree
// is one entry: its index (tree_index.h) in blocks of its own, then the data of its files in
// full blocks but the last. So a receiver knows from the manifest alone how much space it
// needs, and from the manifest and the indexes where every byte belongs, before any data
// arrive:
//
//     manifest:  magic u32 | version u8 | reserved u24 | length u32 | blocks u32 | entries u32
//                then that many entries
//     entry:     spec u16 | name text | size u64 | mode u16 | uid u32 | gid u32 |
//                mtime_seconds u64 (two's complement) | mtime_nanoseconds u32 |
//                first_block u32 | index u32 | room u64 | inodes u32 |
//                blame u8 | trouble text | line text | shape blob |
//                stamp blob (0 or 32) | content blob (0 or 48)
//
// Network byte order (base/codec.h). `length` is that of the whole manifest in bytes, `blocks`
// the number of blocks of the whole object. Under protection `none` any host can forge a
// manifest, so decoding trusts nothing.
#pragma once

#include "stager/content/source_stamp.h"
#include "stager/disk/file_names.h"
#include "transport/base/codec.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

inline constexpr std::size_t kManifestHeadBytes = 20;
inline constexpr std::size_t kMaxManifestBytes = 128U << 20U;
inline constexpr std::size_t kMaxManifestEntries = 1U << 18U;
inline constexpr std::size_t kMaxTreeIndexBytes = 256U << 20U;  ///< The index of one tree.

struct FileTime {
    std::int64_t seconds = 0;
    std::uint32_t nanoseconds = 0;  ///< Below 10^9.

    auto operator<=>(const FileTime&) const = default;
};

/// Describes one file or tree, or says why it is missing.
struct ManifestEntry {
    std::uint16_t spec = 0;  ///< Index into the job's specs.
    std::string name;        ///< The source's last component: no slash, not "." or "..".
    std::uint64_t size = 0;  ///< Bytes of data; for a tree the sum of its files.
    /// Permission bits, 07777. A tree has those of its top, and the set-id bits of any file in
    /// it.
    std::uint16_t mode = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    FileTime mtime;  ///< For a tree the latest one in it.
    BlockIndex first_block;
    std::uint32_t index_bytes = 0;  ///< The length of a tree's index; 0: this is a file.
    std::uint64_t room = 0;         ///< The disk space that a tree takes, bytes.
    std::uint32_t inodes = 0;       ///< The number of inodes that a tree takes.
    /// Not empty: the source cannot send this (`optional`) file, which then has no bytes.
    std::string trouble;
    Blame blame = Blame::user;  ///< The blame of the trouble.
    /// For a spec that is a list: the line that asks for this file, in the format of
    /// serialize() in stage_spec.h, because only the source reads the list. Otherwise empty.
    std::string line;
    /// For a file with holes, attributes or ACLs: its node (tree_node.h), without a name.
    /// `size` then counts only the bytes that are sent. Otherwise empty.
    std::vector<std::byte> shape;
    /// Identifies the source file (content/source_stamp.h), if a later stage may recognise it.
    /// Empty for other files, for a file with a shape and for an empty file.
    std::vector<std::byte> stamp;
    /// The file's content (content/content.h), if it was known before the file was read.
    /// Otherwise empty.
    std::vector<std::byte> content;

    [[nodiscard]] bool is_tree() const { return index_bytes != 0; }
    /// The length of the entry when it is kept as one file, block after block. A tree's data
    /// begin at a block boundary there, with zeros before them.
    [[nodiscard]] std::uint64_t kept_bytes() const;
    /// The number of blocks of a tree's index. 0: this is a file.
    [[nodiscard]] std::uint32_t index_blocks() const;
    /// Returns nothing if there is no stamp, or one of the wrong length.
    [[nodiscard]] std::optional<SourceStamp> stamp_if_any() const;
    [[nodiscard]] std::uint32_t block_count() const;
    bool operator==(const ManifestEntry&) const = default;
};

struct Manifest {
    std::vector<ManifestEntry> entries;

    /// The number of blocks of the object, including the manifest's own.
    [[nodiscard]] std::uint32_t block_count() const;
    /// The number of the manifest's own blocks.
    [[nodiscard]] std::uint32_t own_block_count() const;
    /// The bytes of all files together.
    [[nodiscard]] std::uint64_t file_bytes() const;
    /// The bytes of everything but the manifest: files, indexes and data of trees.
    [[nodiscard]] std::uint64_t stream_bytes() const;
    /// Assigns every entry its first block. Fails if there are too many blocks or entries.
    [[nodiscard]] Status lay_out();

    bool operator==(const Manifest&) const = default;
};

/// Requires that lay_out() succeeded.
[[nodiscard]] std::vector<std::byte> encode_manifest(const Manifest& manifest);

/// The length of the manifest that begins with these bytes, from its head; nothing if there is
/// no manifest.
[[nodiscard]] std::optional<std::size_t> manifest_length(Bytes first_block);

/// Fails unless `bytes` are exactly one manifest whose entries are placed as by lay_out().
[[nodiscard]] Result<Manifest> decode_manifest(Bytes bytes);

/// The position of a block in a file or tree.
struct BlockPlace {
    std::size_t entry = 0;  ///< Index into Manifest::entries.
    std::uint64_t offset =
        0;  ///< In the file; for a tree in its index and data, one after the other.
    std::uint32_t length = 0;  ///< 1 .. kBlockBytes.
};

/// Finds the entry of a block; returns nothing for the manifest's own blocks and for those
/// beyond the end. O(log entries).
[[nodiscard]] std::optional<BlockPlace> find_block(const Manifest& manifest, BlockIndex block);

}  // namespace stage

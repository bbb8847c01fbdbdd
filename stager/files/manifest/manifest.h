// Which files does an object carry, and which blocks are whose?
//
// The first blocks of an object are its manifest; each file follows, starting on a block
// boundary, whole blocks but the last. A file of no bytes has no block. A directory tree is
// one entry: its index (tree_index.h) in blocks of its own, then the data of its files in
// whole blocks but the last. So a receiver knows from the manifest alone how much room it
// needs, and from it and the indexes where every byte belongs, before any data:
//
//     manifest:  magic u32 | version u8 | reserved u24 | length u32 | blocks u32 | entries u32
//                then so many entries
//     entry:     spec u16 | name text | size u64 | mode u16 | uid u32 | gid u32 |
//                mtime_seconds u64 (two's complement) | mtime_nanoseconds u32 |
//                first_block u32 | index u32 | room u64 | inodes u32 |
//                blame u8 | trouble text | line text | shape blob |
//                stamp blob (0 or 32) | content blob (0 or 48)
//
// Network byte order (base/codec.h). `length` is the whole manifest in bytes, `blocks` the
// whole object's. Under protection `none` anyone can forge it: decoding trusts nothing.
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
inline constexpr std::size_t kMaxTreeIndexBytes = 256U << 20U;  ///< Of one tree.

struct FileTime {
    std::int64_t seconds = 0;
    std::uint32_t nanoseconds = 0;  ///< Below 10^9.

    auto operator<=>(const FileTime&) const = default;
};

/// One file or tree, or why there is none.
struct ManifestEntry {
    std::uint16_t spec = 0;  ///< Index into the job's specs.
    std::string name;        ///< The source's last component: no slash, not "." or "..".
    std::uint64_t size = 0;  ///< Bytes of data; of a tree: of its files together.
    /// Permission bits, 07777; of a tree: its top's, and the set-id bits of any file in it.
    std::uint16_t mode = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    FileTime mtime;  ///< Of a tree: the latest in it.
    BlockIndex first_block;
    std::uint32_t index_bytes = 0;  ///< Of a tree's index; 0: this is a file.
    std::uint64_t room = 0;         ///< What a tree takes of a disk, bytes.
    std::uint32_t inodes = 0;       ///< And how many of these.
    /// Not empty: the source can't give this file (an `optional` one); it has no bytes.
    std::string trouble;
    Blame blame = Blame::user;  ///< Of the trouble.
    /// Of a spec that is a list: the line of it that asks for this file, as serialize() of
    /// stage_spec.h writes it, since only the source reads the list. Else empty.
    std::string line;
    /// Of a file with holes, attributes or ACLs: its node (tree_node.h), without a name.
    /// `size` is then what is sent of it. Else empty.
    std::vector<std::byte> shape;
    /// Which file this is (content/source_stamp.h), where a later stage may know it again. Else
    /// empty, as for a file with a shape and what has no bytes.
    std::vector<std::byte> stamp;
    /// And what it holds (content/content.h), where that was known before it was read. Else
    /// empty.
    std::vector<std::byte> content;

    [[nodiscard]] bool is_tree() const { return index_bytes != 0; }
    /// As one file, where it is kept: block after block of it. So a tree's data begin where a
    /// block does, and zeros are before them.
    [[nodiscard]] std::uint64_t kept_bytes() const;
    /// Of its index. 0: this is a file.
    [[nodiscard]] std::uint32_t index_blocks() const;
    /// Nothing, too, for one of the wrong length.
    [[nodiscard]] std::optional<SourceStamp> stamp_if_any() const;
    [[nodiscard]] std::uint32_t block_count() const;
    bool operator==(const ManifestEntry&) const = default;
};

struct Manifest {
    std::vector<ManifestEntry> entries;

    /// The object's blocks, the manifest's own included.
    [[nodiscard]] std::uint32_t block_count() const;
    /// The manifest's own blocks.
    [[nodiscard]] std::uint32_t own_block_count() const;
    /// Of all files together.
    [[nodiscard]] std::uint64_t file_bytes() const;
    /// Of everything but the manifest: files, indexes and data of trees.
    [[nodiscard]] std::uint64_t stream_bytes() const;
    /// Gives every entry its first block. Fails if blocks or entries run out: too many bytes.
    [[nodiscard]] Status lay_out();

    bool operator==(const Manifest&) const = default;
};

/// Requires that lay_out() succeeded.
[[nodiscard]] std::vector<std::byte> encode_manifest(const Manifest& manifest);

/// How long the manifest is that begins with these bytes, by its head; nothing if that is none.
[[nodiscard]] std::optional<std::size_t> manifest_length(Bytes first_block);

/// Fails on anything but exactly one manifest whose entries lie as lay_out() puts them.
[[nodiscard]] Result<Manifest> decode_manifest(Bytes bytes);

/// Where a block of a file or tree lies.
struct BlockPlace {
    std::size_t entry = 0;  ///< Index into Manifest::entries.
    std::uint64_t offset =
        0;  ///< In the file; in a tree's index and data, one after the other.
    std::uint32_t length = 0;  ///< 1 .. kBlockBytes.
};

/// Finds a file's block among the entries; nothing for the manifest's own and those beyond the
/// end. O(log entries).
[[nodiscard]] std::optional<BlockPlace> find_block(const Manifest& manifest, BlockIndex block);

}  // namespace stage

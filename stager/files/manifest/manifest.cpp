#include "stager/files/manifest/manifest.h"

#include "stager/content/content.h"
#include "stager/content/source_stamp.h"
#include "stager/files/manifest/tree_node.h"

#include <algorithm>
#include <limits>

namespace stage {
namespace {

constexpr std::uint32_t kMagic = 0x53434D46;  // "SCMF"
constexpr std::uint8_t kVersion = 4;
constexpr std::size_t kMaxTroubleBytes = 4096;
constexpr std::size_t kMaxLineBytes = 32U << 10U;
/// The length of an entry with empty texts, bytes.
constexpr std::size_t kEntryBytes =
    2 + 4 + 8 + 2 + 4 + 4 + 8 + 4 + 4 + (4 + 8 + 4) + 1 + 4 + 4 + 4 + 4 + 4;
constexpr std::uint32_t kNanosecondsPerSecond = 1'000'000'000;

std::uint64_t blocks_for(std::uint64_t bytes) {
    return bytes / kBlockBytes + (bytes % kBlockBytes != 0 ? 1 : 0);
}

std::size_t encoded_bytes(const Manifest& manifest) {
    std::size_t bytes = kManifestHeadBytes;
    for (const ManifestEntry& entry : manifest.entries) {
        bytes += kEntryBytes + entry.name.size() + entry.trouble.size() + entry.line.size() +
                 entry.shape.size() + entry.stamp.size() + entry.content.size();
    }
    return bytes;
}

void put_entry(ByteWriter& writer, const ManifestEntry& entry) {
    writer.u16(entry.spec).text(entry.name).u64(entry.size).u16(entry.mode);
    writer.u32(entry.uid).u32(entry.gid);
    writer.u64(static_cast<std::uint64_t>(entry.mtime.seconds)).u32(entry.mtime.nanoseconds);
    writer.u32(entry.first_block.value());
    writer.u32(entry.index_bytes).u64(entry.room).u32(entry.inodes);
    writer.u8(static_cast<std::uint8_t>(entry.blame)).text(entry.trouble);
    writer.text(entry.line).blob(entry.shape).blob(entry.stamp).blob(entry.content);
}

bool is_sound_tree(const ManifestEntry& entry) {
    if (!entry.is_tree()) {
        return entry.room == 0 && entry.inodes == 0;
    }
    return entry.trouble.empty() && entry.inodes > 0 && entry.index_bytes <= kMaxTreeIndexBytes;
}

/// Only a file without trouble and shape can be recognised, and only complete digests name it.
bool has_sound_identity(const ManifestEntry& entry) {
    const bool is_plain = entry.trouble.empty() && entry.shape.empty() && entry.size > 0;
    const bool has_stamp = entry.stamp.size() == SourceStamp{}.size();
    const bool has_content = entry.content.size() == kContentBytes;
    return (entry.stamp.empty() || (is_plain && has_stamp)) &&
           (entry.content.empty() || (has_stamp && has_content));
}

/// Fails the reader if the entry alone is invalid.
ManifestEntry take_entry(ByteReader& reader) {
    ManifestEntry entry;
    entry.spec = reader.u16();
    entry.name = reader.text(kMaxFileNameBytes);
    entry.size = reader.u64();
    entry.mode = reader.u16();
    entry.uid = reader.u32();
    entry.gid = reader.u32();
    entry.mtime.seconds = static_cast<std::int64_t>(reader.u64());
    entry.mtime.nanoseconds = reader.u32();
    entry.first_block = BlockIndex{reader.u32()};
    entry.index_bytes = reader.u32();
    entry.room = reader.u64();
    entry.inodes = reader.u32();
    const std::uint8_t blame = reader.u8();
    entry.trouble = reader.text(kMaxTroubleBytes);
    entry.line = reader.text(kMaxLineBytes);
    const Bytes shape = reader.blob(kMaxManifestBytes);
    entry.shape.assign(shape.begin(), shape.end());
    const Bytes stamp = reader.blob(SourceStamp{}.size());
    entry.stamp.assign(stamp.begin(), stamp.end());
    const Bytes content = reader.blob(kContentBytes);
    entry.content.assign(content.begin(), content.end());
    const bool is_sound = is_plain_name(entry.name) && entry.mode <= 07777 &&
                          entry.mtime.nanoseconds < kNanosecondsPerSecond &&
                          blame <= static_cast<std::uint8_t>(Blame::internal) &&
                          (entry.trouble.empty() || (entry.size == 0 && entry.shape.empty())) &&
                          is_sound_tree(entry) &&
                          entry.trouble.find('\0') == std::string::npos &&
                          has_sound_shape(entry) && has_sound_identity(entry);
    if (!is_sound) {
        reader.fail();
        return entry;
    }
    entry.blame = static_cast<Blame>(blame);
    return entry;
}

Error no_manifest() {
    return {Blame::internal, "the object does not begin with a valid manifest"};
}

/// True if the entries are placed exactly as by lay_out(): no overlap, gap or overflow.
bool lies_as_laid_out(const Manifest& manifest) {
    Manifest again = manifest;
    return again.lay_out().ok() && again == manifest;
}

}  // namespace

std::uint32_t ManifestEntry::index_blocks() const {
    return static_cast<std::uint32_t>(blocks_for(index_bytes));
}

std::uint64_t ManifestEntry::kept_bytes() const {
    return std::uint64_t{index_blocks()} * kBlockBytes + size;
}

std::uint32_t ManifestEntry::block_count() const {
    return static_cast<std::uint32_t>(blocks_for(index_bytes) + blocks_for(size));
}

std::optional<SourceStamp> ManifestEntry::stamp_if_any() const {
    SourceStamp all{};
    if (stamp.size() != all.size()) {
        return std::nullopt;
    }
    std::ranges::copy(stamp, all.begin());
    return all;
}

std::uint32_t Manifest::own_block_count() const {
    return static_cast<std::uint32_t>(blocks_for(encoded_bytes(*this)));
}

std::uint32_t Manifest::block_count() const {
    std::uint32_t blocks = own_block_count();
    for (const ManifestEntry& entry : entries) {
        blocks += entry.block_count();
    }
    return blocks;
}

std::uint64_t Manifest::file_bytes() const {
    std::uint64_t bytes = 0;
    for (const ManifestEntry& entry : entries) {
        bytes += entry.size;
    }
    return bytes;
}

std::uint64_t Manifest::stream_bytes() const {
    std::uint64_t bytes = file_bytes();
    for (const ManifestEntry& entry : entries) {
        bytes += entry.index_bytes;
    }
    return bytes;
}

Status Manifest::lay_out() {
    constexpr std::uint64_t kMaxBlocks = std::numeric_limits<std::uint32_t>::max();
    if (entries.size() > kMaxManifestEntries || encoded_bytes(*this) > kMaxManifestBytes) {
        return Error{Blame::user, "too many files for one stage"};
    }
    std::uint64_t next = own_block_count();
    for (ManifestEntry& entry : entries) {
        const std::uint64_t blocks = blocks_for(entry.index_bytes) + blocks_for(entry.size);
        if (blocks > kMaxBlocks - next) {
            return Error{Blame::user, entry.name + ": too many bytes for one stage"};
        }
        entry.first_block = BlockIndex{static_cast<std::uint32_t>(next)};
        next += blocks;
    }
    return {};
}

std::vector<std::byte> encode_manifest(const Manifest& manifest) {
    ByteWriter writer;
    writer.u32(kMagic).u8(kVersion).u8(0).u16(0);
    writer.u32(static_cast<std::uint32_t>(encoded_bytes(manifest)));
    writer.u32(manifest.block_count());
    writer.u32(static_cast<std::uint32_t>(manifest.entries.size()));
    for (const ManifestEntry& entry : manifest.entries) {
        put_entry(writer, entry);
    }
    invariant(writer.size() == encoded_bytes(manifest), "a manifest is as long as it says");
    return writer.take();
}

std::optional<std::size_t> manifest_length(Bytes first_block) {
    ByteReader reader{first_block};
    const std::uint32_t magic = reader.u32();
    const std::uint8_t version = reader.u8();
    static_cast<void>(reader.raw(3));
    const std::size_t length = reader.u32();
    if (!reader.ok() || magic != kMagic || version != kVersion || length < kManifestHeadBytes ||
        length > kMaxManifestBytes) {
        return std::nullopt;
    }
    return length;
}

Result<Manifest> decode_manifest(Bytes bytes) {
    if (manifest_length(bytes) != bytes.size()) {
        return no_manifest();
    }
    ByteReader reader{bytes.subspan(12)};
    const std::uint32_t blocks = reader.u32();
    const std::size_t count = reader.u32();
    if (count > kMaxManifestEntries || count > reader.left() / kEntryBytes) {
        return no_manifest();
    }
    Manifest manifest;
    manifest.entries.reserve(count);
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        manifest.entries.push_back(take_entry(reader));
    }
    if (!reader.finished() || !lies_as_laid_out(manifest) || manifest.block_count() != blocks) {
        return no_manifest();
    }
    return manifest;
}

std::optional<BlockPlace> find_block(const Manifest& manifest, BlockIndex block) {
    const auto& entries = manifest.entries;
    // Finds the last entry that begins at or before the block. Entries without a block have
    // their successor's first block and precede it, or are at the end.
    auto after = std::upper_bound(
        entries.begin(), entries.end(), block, [](BlockIndex wanted, const ManifestEntry& e) {
            return wanted < e.first_block;
        });
    if (after == entries.begin()) {
        return std::nullopt;
    }
    const ManifestEntry& entry = *std::prev(after);
    const std::uint64_t at = block.value() - entry.first_block.value();
    const std::uint64_t index_blocks = blocks_for(entry.index_bytes);
    const bool is_index = at < index_blocks;
    const std::uint64_t offset =
        is_index ? at * kBlockBytes : entry.index_bytes + (at - index_blocks) * kBlockBytes;
    const std::uint64_t end = is_index ? entry.index_bytes : entry.index_bytes + entry.size;
    if (offset >= end) {
        return std::nullopt;
    }
    return BlockPlace{
        static_cast<std::size_t>(std::prev(after) - entries.begin()),
        offset,
        static_cast<std::uint32_t>(std::min<std::uint64_t>(kBlockBytes, end - offset))};
}

}  // namespace stage

// Reads files as one object of blocks.
//
// The manifest comes first, then file after file and tree after tree, each starting on a block
// boundary. All reads of a block must return the same bytes: its leaf digest is recorded, a
// retransmission that differs is an error, and a file's last block is sent only if size and
// mtime are still those from the beginning. So no receiver ever completes a file that changed
// while it was read.
#pragma once

#include "stager/content/content.h"
#include "stager/disk/page_room.h"
#include "stager/files/manifest/digest.h"
#include "stager/files/source/source_item.h"
#include "transport/run/object/source.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace stage {

/// One file or directory to send.
struct SourceOrder {
    std::uint16_t spec = 0;
    std::string path;                ///< Absolute.
    std::string line;                ///< ManifestEntry::line.
    std::optional<Error> trouble{};  ///< Why it can't be sent, whatever the file is.
    bool is_optional = false;  ///< A file that can't be opened becomes a note in the manifest.
    bool is_plain = false;     ///< Send only the bytes: for an archive that is unpacked.
    std::string where{};       ///< For messages, how it is asked for: by a list's line.
    TreeChoice choice{};       ///< What of a tree is sent.
};

/// Returns the content of a file with this stamp, if it is remembered.
using KnownContent = std::function<std::optional<Content>(const SourceStamp&)>;

class FileSource final : public SizedSource {
  public:
    /// Opens all files with the caller's rights. Fails on the first one that cannot be opened
    /// and is not optional, and if together they have more than `bytes_max` bytes (0: no
    /// limit). `page_room`: the bytes of all files that may stay in memory.
    [[nodiscard]] static Result<std::unique_ptr<FileSource>> open(
        const std::vector<SourceOrder>& orders,
        std::uint64_t bytes_max,
        const KnownContent& known = {},
        std::uint64_t page_room = kAllPages);

    [[nodiscard]] std::uint32_t block_count() const override { return block_count_; }
    [[nodiscard]] std::uint64_t object_bytes() const override {
        return manifest_bytes_.size() + manifest_.stream_bytes();
    }
    [[nodiscard]] std::uint32_t block_length(BlockIndex block) const override;
    [[nodiscard]] Result<SourceBlock> read(BlockIndex block, MutableBytes room) override;
    /// Checks that no file has changed since it was opened, also one that was not read.
    [[nodiscard]] Status finish() override;

    [[nodiscard]] const Manifest& manifest() const { return manifest_; }
    [[nodiscard]] Bytes manifest_bytes() const { return manifest_bytes_; }
    /// The file of entry `index`; nothing for an entry with a trouble.
    [[nodiscard]] std::optional<FileIdentity> identity(std::size_t index) const;
    /// The directories that contain a tree.
    [[nodiscard]] std::vector<FileIdentity> above(std::size_t index) const;
    /// The digest of all file blocks, once each was read; "" before.
    [[nodiscard]] std::string digest() const;
    /// The bytes read from files so far, including retransmissions.
    [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }
    /// What users may miss in the copies, in words; empty: nothing.
    [[nodiscard]] std::string remarks() const;

    /// For open(): one item for each entry of `manifest`, which is laid out; null for an entry
    /// with a trouble.
    FileSource(std::vector<std::unique_ptr<SourceItem>> items, Manifest manifest);

  private:
    /// Selects the item for the next operation; if there are many, only this one keeps
    /// descriptors open.
    SourceItem& use(std::size_t index);
    [[nodiscard]] Status read_file_block(BlockIndex block, MutableBytes room);
    /// Checks and records that `bytes` with that leaf digest are the content of this file
    /// block.
    [[nodiscard]] Status keep_to_it(BlockIndex block, Bytes bytes, const Digest128& leaf);

    std::vector<std::unique_ptr<SourceItem>> items_;  ///< By manifest entry.
    Manifest manifest_;
    std::vector<std::byte> manifest_bytes_;
    std::uint32_t block_count_;
    std::uint32_t first_file_block_;
    std::vector<Digest128> leaves_;      ///< Leaves of file blocks, from first_file_block_ on.
    std::vector<bool> is_read_;          ///< The blocks of `leaves_` that were read.
    std::size_t used_ = 0;               ///< The item used last.
    std::vector<std::uint32_t> unread_;  ///< Blocks not read yet, by manifest entry.
    std::atomic<std::uint64_t> bytes_read_{0};
};

}  // namespace stage

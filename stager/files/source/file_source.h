// How do files become one object of blocks?
//
// A manifest first, then file after file and tree after tree, each beginning a block. What was
// read once is held to: the leaf of every block is remembered, a repeat that differs is an
// error, and a file's last block is only given away when its size and mtime are still those of
// the beginning. So nobody ever completes a file that changed under our hands.
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
    bool is_plain = false;     ///< Nothing but the bytes: of a file that is unpacked, not kept.
    std::string where{};       ///< Which line of which list asks for it; empty: no list.
    bool is_ownerless = false;  ///< Of a tree that is compared: who owns what is no matter.
};

/// What a file with this stamp holds, where somebody remembers it.
using KnownContent = std::function<std::optional<Content>(const SourceStamp&)>;

class FileSource final : public BlockSource {
  public:
    /// Opens all of them, with the caller's rights. Fails on the first that can't be opened and
    /// is not optional, and when together they have more than `bytes_max` (0: no limit).
    /// `page_room`: what all of them together may keep in memory.
    [[nodiscard]] static Result<std::unique_ptr<FileSource>> open(
        const std::vector<SourceOrder>& orders,
        std::uint64_t bytes_max,
        const KnownContent& known = {},
        std::uint64_t page_room = kAllPages);

    [[nodiscard]] std::uint32_t block_count() const override { return block_count_; }
    [[nodiscard]] std::uint32_t block_length(BlockIndex block) const override;
    [[nodiscard]] Result<SourceBlock> read(BlockIndex block, MutableBytes room) override;
    /// Of what was not read, too: nothing has changed since it was opened.
    [[nodiscard]] Status finish() override;

    [[nodiscard]] const Manifest& manifest() const { return manifest_; }
    [[nodiscard]] Bytes manifest_bytes() const { return manifest_bytes_; }
    /// Of entry `index`; nothing for one in trouble.
    [[nodiscard]] std::optional<FileIdentity> identity(std::size_t index) const;
    /// The directories that a tree lies in.
    [[nodiscard]] std::vector<FileIdentity> above(std::size_t index) const;
    /// Of all file blocks, once each was read; "" before.
    [[nodiscard]] std::string digest() const;
    /// Of files, so far, repeats included.
    [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

    /// For open(): items by entry of `manifest`, which is laid out; none where there is
    /// trouble.
    FileSource(std::vector<std::unique_ptr<SourceItem>> items, Manifest manifest);

  private:
    /// Item `index`, which is at work now; of those that are many only this one has
    /// descriptors.
    SourceItem& use(std::size_t index);
    [[nodiscard]] Status read_file_block(BlockIndex block, MutableBytes room);
    /// `bytes` of that leaf are what this file block was and will be.
    [[nodiscard]] Status keep_to_it(BlockIndex block, Bytes bytes, const Digest128& leaf);

    std::vector<std::unique_ptr<SourceItem>> items_;  ///< By manifest entry.
    Manifest manifest_;
    std::vector<std::byte> manifest_bytes_;
    std::uint32_t block_count_;
    std::uint32_t first_file_block_;
    std::vector<Digest128> leaves_;      ///< Of file blocks, from first_file_block_ on.
    std::vector<bool> is_read_;          ///< Likewise.
    std::size_t used_ = 0;               ///< The item used last.
    std::vector<std::uint32_t> unread_;  ///< Blocks to go, by manifest entry.
    std::atomic<std::uint64_t> bytes_read_{0};
};

}  // namespace stage

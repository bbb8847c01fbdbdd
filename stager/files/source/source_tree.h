// Reads a directory tree as one stream, and checks that it is still the tree that was walked.
//
// The stream is the index of the members, then the data of the files one after another, so that
// small files need no block or packet of their own. The tree is walked and indexed at once,
// then read file by file with one of them open. A file whose size or mtime differs from the
// walk is reported by its name.
#pragma once

#include "stager/files/manifest/tree_directories.h"
#include "stager/files/source/source_item.h"
#include "stager/files/source/tree_walk.h"

#include <memory>

namespace stage {

class SourceTree final : public SourceItem {
  public:
    /// Walks through the absolute `path`.
    [[nodiscard]] static Result<SourceTree> open(std::string path, bool is_ownerless = false);

    [[nodiscard]] const TreeIndex& index() const { return tree_->index; }

    [[nodiscard]] ManifestEntry describe() const override;
    [[nodiscard]] FileIdentity identity() const override { return identity_; }
    [[nodiscard]] std::optional<SourceStamp> stamp() const override { return stamp_; }
    [[nodiscard]] std::vector<FileIdentity> above() const override { return above_; }
    [[nodiscard]] Status read(std::uint64_t offset, MutableBytes room) override;
    /// Each file was checked when its last byte was read.
    [[nodiscard]] Status unchanged() override { return {}; }
    [[nodiscard]] Error changed_error(std::uint64_t offset, std::size_t length) override;

  private:
    SourceTree(std::string path, UniqueFd top, WalkedTree tree, const struct stat& status);

    [[nodiscard]] Status read_piece(const TreePiece& piece, MutableBytes room);
    [[nodiscard]] Status open_file(std::uint32_t node);
    [[nodiscard]] bool is_as_walked(const TreeNode& file, bool is_asked_anew) const;
    [[nodiscard]] std::string path_of(std::uint32_t node) const;

    std::string path_;
    FileIdentity identity_;
    std::optional<SourceStamp> stamp_;
    std::vector<FileIdentity> above_;
    TreeNode top_;
    std::unique_ptr<WalkedTree> tree_;  ///< On the heap, since directories_ refers to it.
    TreeDirectories directories_;
    std::uint32_t open_node_ = 0;  ///< The node of the open file; 0, the top: none.
    UniqueFd open_;
};

}  // namespace stage

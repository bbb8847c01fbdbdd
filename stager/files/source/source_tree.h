// What does a directory say, and is it still the one that we walked through?
//
// One stream: the index of its members, then the data of its files one after another, so that
// small files cost no block and no packet of their own. Walked and indexed at once, read file
// by file with one of them open. A file whose size or mtime is not what the walk saw is named.
#pragma once

#include "stager/files/manifest/tree_directories.h"
#include "stager/files/source/source_item.h"
#include "stager/files/source/tree_walk.h"

#include <memory>

namespace stage {

class SourceTree final : public SourceItem {
  public:
    /// Walks through `path`, absolute.
    [[nodiscard]] static Result<SourceTree> open(std::string path, bool is_ownerless = false);

    [[nodiscard]] const TreeIndex& index() const { return tree_->index; }

    [[nodiscard]] ManifestEntry describe() const override;
    [[nodiscard]] FileIdentity identity() const override { return identity_; }
    [[nodiscard]] std::optional<SourceStamp> stamp() const override { return stamp_; }
    [[nodiscard]] std::vector<FileIdentity> above() const override { return above_; }
    [[nodiscard]] Status read(std::uint64_t offset, MutableBytes room) override;
    /// Each file was looked at when its last byte was read.
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
    std::unique_ptr<WalkedTree> tree_;  ///< Where directories_ finds it.
    TreeDirectories directories_;
    std::uint32_t open_node_ = 0;  ///< Whose file is open; 0, the top: none is.
    UniqueFd open_;
};

}  // namespace stage

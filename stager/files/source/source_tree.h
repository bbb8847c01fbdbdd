// Reads a directory tree as one stream, and checks that it is still the tree that was walked.
//
// The stream is the index of the members, then the data of the files one after another, so that
// small files need no block or packet of their own. The tree is walked and indexed at once,
// then read file by file with few of them open. What other processes write to meanwhile is read
// as member_reader.h says; what does not fit the index any more is reported by its name.
#pragma once

#include "stager/files/manifest/tree_directories.h"
#include "stager/files/source/member_reader.h"
#include "stager/files/source/source_item.h"
#include "stager/files/source/tree_walk.h"

#include <memory>

namespace stage {

class SourceTree final : public SourceItem {
  public:
    /// Walks through the absolute `path`. The tree takes of `room` what it holds.
    [[nodiscard]] static Result<SourceTree> open(std::string path,
                                                 const TreeChoice& choice,
                                                 HeldRoom& room);

    [[nodiscard]] const TreeIndex& index() const { return tree_->index; }

    [[nodiscard]] ManifestEntry describe() const override;
    [[nodiscard]] std::string remarks() const override;
    [[nodiscard]] FileIdentity identity() const override { return identity_; }
    [[nodiscard]] std::optional<SourceStamp> stamp() const override { return stamp_; }
    [[nodiscard]] std::vector<FileIdentity> above() const override { return above_; }
    [[nodiscard]] Status read(std::uint64_t offset, MutableBytes room) override;
    /// Each file was checked when its last byte was read.
    [[nodiscard]] Status unchanged() override { return {}; }
    [[nodiscard]] Error changed_error(std::uint64_t offset, std::size_t length) override;

  private:
    SourceTree(std::string path, UniqueFd top, WalkedTree tree, const struct stat& status);

    /// The member that is being read.
    struct Reading {
        std::uint32_t node = 0;  ///< 0, the top: none.
        UniqueFd file;           ///< Empty if the walk holds it.
        MemberReader reader;
    };

    [[nodiscard]] Status read_piece(const TreePiece& piece, MutableBytes room);
    [[nodiscard]] Result<Reading*> reading_of(std::uint32_t node);
    [[nodiscard]] Status open_file(std::uint32_t node, Reading& reading);
    [[nodiscard]] Error error_of(MemberRead result, std::uint32_t node) const;
    [[nodiscard]] std::string path_of(std::uint32_t node) const;

    std::string path_;
    FileIdentity identity_;
    std::optional<SourceStamp> stamp_;
    std::vector<FileIdentity> above_;
    TreeNode top_;
    std::unique_ptr<WalkedTree> tree_;  ///< On the heap, since directories_ refers to it.
    TreeDirectories directories_;
    Reading forward_;  ///< The member that was reached.
    Reading again_;    ///< One before it, for a retransmission.
};

}  // namespace stage

// Reads one file, and checks that it is still the file that was opened.
//
// It is opened with the caller's own rights, through symbolic links, since the user named it.
// Only regular files are accepted: a directory, a device or a pipe is refused with an error,
// without being opened.
#pragma once

#include "stager/disk/drop_behind.h"
#include "stager/disk/page_room.h"
#include "stager/files/manifest/tree_node.h"
#include "stager/files/source/source_item.h"
#include "transport/os/unique_fd.h"

namespace stage {

class SourceFile final : public SourceItem {
  public:
    /// Opens the absolute `path` for reading, and records inode, size and mtime.
    [[nodiscard]] static Result<SourceFile> open(std::string path);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::uint64_t size() const { return node_.size; }
    /// Finds holes, which are not sent, and attributes and ACLs, which are.
    void find_shape();
    [[nodiscard]] FileIdentity identity() const override { return identity_; }
    [[nodiscard]] std::optional<SourceStamp> stamp() const override { return stamp_; }
    [[nodiscard]] std::vector<FileIdentity> above() const override;
    [[nodiscard]] ManifestEntry describe() const override;

    void keep_pages(std::uint64_t room) override { behind_ = DropBehind{room}; }

    void rest() override { fd_.reset(); }

    /// Reads from the bytes that are sent of it. A file that has become shorter is an error.
    [[nodiscard]] Status read(std::uint64_t offset, MutableBytes room) override;

    /// Checks that size and mtime are those from open().
    [[nodiscard]] Status unchanged() override;

    [[nodiscard]] Error changed_error(std::uint64_t offset, std::size_t length) override;

  private:
    [[nodiscard]] Status wake();

    SourceFile(std::string path, UniqueFd fd, const struct stat& status);

    std::string path_;
    UniqueFd fd_;
    FileIdentity identity_;
    std::optional<SourceStamp> stamp_;
    TreeNode node_;
    bool may_have_holes_;
    DropBehind behind_{kAllPages};
};

}  // namespace stage

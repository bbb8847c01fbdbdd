// How does a directory tree arrive so that it is whole or absent?
//
// Below a temporary directory beside its final name, and by one rename when all of it is
// there. Its index comes first; until it is complete its data are deferred. What has the final
// name already is left, or replaced by an exchange and then removed, or an error: there is no
// comparing of trees.
#pragma once

#include "stager/files/target.h"
#include "stager/files/tree_writer.h"

#include <memory>
#include <optional>

namespace stage {

class TargetTree final : public Target {
  public:
    /// Looks at the destination and decides; nothing is made yet but missing directories.
    [[nodiscard]] static Result<std::unique_ptr<TargetTree>> decide(TargetOrder order,
                                                                    const ManifestEntry& entry,
                                                                    Writer writer);

    TargetTree(TargetOrder order,
               const ManifestEntry& entry,
               Writer writer,
               TargetDirectory at);
    TargetTree(const TargetTree&) = delete;
    TargetTree& operator=(const TargetTree&) = delete;
    /// Removes the temporary directory, if it did not get its final name.
    ~TargetTree() override;

    [[nodiscard]] TargetNeeds needs() const override;
    [[nodiscard]] const TargetDirectory& directory() const override { return directory_; }
    [[nodiscard]] std::string path() const override { return order_.place.path(); }
    [[nodiscard]] std::string temporary_path() const override;
    [[nodiscard]] bool is_left() const override { return is_left_; }

    [[nodiscard]] Status begin() override;
    [[nodiscard]] Result<Placing> write(std::uint64_t offset, Bytes bytes) override;
    [[nodiscard]] Status read_back(std::uint64_t offset, MutableBytes room) override;
    [[nodiscard]] Status settle() override;
    [[nodiscard]] Status appear() override;

  private:
    [[nodiscard]] Status look();
    [[nodiscard]] Status look_at(const struct stat& there);
    [[nodiscard]] Result<FileTime> newest_of(const struct stat& there) const;
    [[nodiscard]] Status make_temporary();
    [[nodiscard]] bool remove_leftover() const;
    [[nodiscard]] Result<Placing> gather(std::uint64_t offset, Bytes bytes);
    [[nodiscard]] Status take_index();
    [[nodiscard]] Status replace();
    [[nodiscard]] Status sync(int fd) const;
    [[nodiscard]] Error exists() const;
    [[nodiscard]] Error failed(int cause) const;

    TargetOrder order_;
    ManifestEntry entry_;
    Writer writer_;
    TargetDirectory directory_;
    std::string name_;
    std::string temporary_;  ///< Its name; meaningful while has_temporary_.
    bool has_temporary_ = false;
    bool is_left_ = false;
    UniqueFd top_;                     ///< Holds the lock.
    std::vector<std::byte> gathered_;  ///< The index's bytes, until all are here.
    std::vector<bool> is_gathered_;
    std::optional<TreeIndex> index_;
    std::optional<TreeWriter> tree_;  ///< Refers to index_.
};

}  // namespace stage

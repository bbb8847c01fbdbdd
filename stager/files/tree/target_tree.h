// Receives a directory tree so that it appears completely or not at all.
//
// The tree is written into a directory that gets its name at the end (tree_place.h). Its index
// arrives first; data are deferred until the index is complete. If the node cache has the tree,
// as one file, a separate thread makes the files from it.
#pragma once

#include "stager/files/tree/placed_target.h"
#include "stager/files/tree/tree_writer.h"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

namespace stage {

class TargetTree final : public PlacedTarget {
  public:
    /// Examines the destination and decides. It makes only missing directories.
    [[nodiscard]] static Result<std::unique_ptr<TargetTree>> decide(TargetOrder order,
                                                                    const ManifestEntry& entry,
                                                                    Writer writer);

    /// For decide().
    TargetTree(std::unique_ptr<TreePlace> place,
               const ManifestEntry& entry,
               std::uint64_t page_room,
               bool keeps_owners)
        : PlacedTarget{std::move(place)},
          entry_{entry},
          page_room_{page_room},
          keeps_owners_{keeps_owners} {}
    TargetTree(const TargetTree&) = delete;
    TargetTree& operator=(const TargetTree&) = delete;
    ~TargetTree() override;

    [[nodiscard]] TargetNeeds needs() const override;

    [[nodiscard]] std::size_t file_count() const override;

    [[nodiscard]] bool is_adopting() const override { return !is_left(); }
    void adopt(UniqueFd file) override;

    [[nodiscard]] Result<Placing> write(std::uint64_t offset, Bytes bytes) override;
    [[nodiscard]] Status read_back(std::uint64_t offset, MutableBytes room) override;
    [[nodiscard]] Status settle() override;

  private:
    [[nodiscard]] Result<Placing> gather(std::uint64_t offset, Bytes bytes);
    [[nodiscard]] Status take_index();
    [[nodiscard]] Status drop_owners();
    [[nodiscard]] Status make_all();
    /// The offset in kept_ of the entry's `offset`.
    [[nodiscard]] std::uint64_t kept_at(std::uint64_t offset) const;

    ManifestEntry entry_;
    std::uint64_t page_room_;
    bool keeps_owners_;
    std::vector<std::byte> gathered_;  ///< The index's bytes, until all are here.
    std::vector<bool> is_gathered_;
    std::optional<TreeIndex> index_;
    std::optional<TreeWriter> tree_;  ///< Refers to index_.
    UniqueFd kept_;                   ///< The whole tree as one file, once adopted.
    std::atomic<bool> is_stopped_{false};
    Status made_;         ///< Belongs to the thread until it has ended.
    std::thread thread_;  ///< Uses all members above.
};

}  // namespace stage

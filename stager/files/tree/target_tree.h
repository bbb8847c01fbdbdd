// How does a directory tree arrive so that it is whole or absent?
//
// In a directory that gets its name at the end (tree_place.h). Its index comes first; until it
// is complete its data are deferred. What the node's cache has of it, as one file, a thread of
// its own makes files of.
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
    /// Looks at the destination and decides; nothing is made yet but missing directories.
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
    /// Where it lies in kept_.
    [[nodiscard]] std::uint64_t kept_at(std::uint64_t offset) const;

    ManifestEntry entry_;
    std::uint64_t page_room_;
    bool keeps_owners_;
    std::vector<std::byte> gathered_;  ///< The index's bytes, until all are here.
    std::vector<bool> is_gathered_;
    std::optional<TreeIndex> index_;
    std::optional<TreeWriter> tree_;  ///< Refers to index_.
    UniqueFd kept_;                   ///< All of it, once adopted.
    std::atomic<bool> is_stopped_{false};
    Status made_;         ///< The thread's, until it has ended.
    std::thread thread_;  ///< Uses all of the above.
};

}  // namespace stage

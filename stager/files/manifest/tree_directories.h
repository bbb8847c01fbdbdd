// Opens the directories of a tree on demand, with few of them open at a time.
//
// Each is opened from the top, which is always open, component by component with O_NOFOLLOW: a
// component that was replaced by a link is an error and never leads out of the tree. The most
// recently used directories stay open.
#pragma once

#include "stager/files/manifest/tree_index.h"
#include "transport/os/unique_fd.h"

#include <set>
#include <vector>

namespace stage {

class TreeDirectories {
  public:
    /// `index` and `followed` must outlive this object; `top` is the tree's top, a descriptor
    /// of any kind. Directory nodes in `followed` are links to directories.
    TreeDirectories(const TreeIndex& index,
                    UniqueFd top,
                    const std::set<std::uint32_t>* followed = nullptr)
        : index_{&index}, top_{std::move(top)}, followed_{followed} {}

    [[nodiscard]] int top() const { return top_.get(); }

    /// Returns a descriptor (O_PATH) of the directory node `directory`, valid until the next
    /// call; -1 with errno if there is no such directory any more.
    [[nodiscard]] int at(std::uint32_t directory);

    /// Closes all descriptors but the top's, after directories were moved or before they are
    /// removed.
    void forget() { open_.clear(); }

  private:
    struct Open {
        std::uint32_t directory = 0;
        std::uint64_t used = 0;  ///< The count of uses at its last use.
        UniqueFd fd;
    };

    [[nodiscard]] int find(std::uint32_t directory);
    [[nodiscard]] int keep(std::uint32_t directory, UniqueFd fd);

    const TreeIndex* index_;
    UniqueFd top_;
    const std::set<std::uint32_t>* followed_;
    std::vector<Open> open_;
    std::uint64_t uses_ = 0;
};

}  // namespace stage

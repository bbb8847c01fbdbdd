// How do we come to a directory of a tree, again and again, with few of them open?
//
// From the top, which is open all the time, component by component with O_NOFOLLOW: what was
// exchanged for a link meanwhile is an error, never a way out. The last used stay open.
#pragma once

#include "stager/files/manifest/tree_index.h"
#include "transport/os/unique_fd.h"

#include <vector>

namespace stage {

class TreeDirectories {
  public:
    /// `index` must outlive this; `top` is the tree's top, any descriptor of it.
    TreeDirectories(const TreeIndex& index, UniqueFd top)
        : index_{&index}, top_{std::move(top)} {}

    [[nodiscard]] int top() const { return top_.get(); }

    /// A descriptor (O_PATH) of the directory node `directory`, good until the next call; -1
    /// and errno where that is no directory any more.
    [[nodiscard]] int at(std::uint32_t directory);

    /// Directories were moved or are to be removed: what is open is forgotten but the top.
    void forget() { open_.clear(); }

  private:
    struct Open {
        std::uint32_t directory = 0;
        std::uint64_t used = 0;  ///< When, as a count of uses.
        UniqueFd fd;
    };

    [[nodiscard]] int find(std::uint32_t directory);
    [[nodiscard]] int keep(std::uint32_t directory, UniqueFd fd);

    const TreeIndex* index_;
    UniqueFd top_;
    std::vector<Open> open_;
    std::uint64_t uses_ = 0;
};

}  // namespace stage

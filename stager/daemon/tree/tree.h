// Computes parents and children in the control tree of a stage's daemons.
//
// The tree is a k-ary heap over the ranks: parent and children are arithmetic, and nothing is
// negotiated. If a node has failed, its children are re-parented to its nearest living
// ancestor, so that one silent daemon never isolates those below it.
#pragma once

#include "transport/base/units.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace stage {

class Tree {
  public:
    /// `size` nodes, at least one; `width` children each, at least one.
    Tree(std::size_t size, std::size_t width);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t width() const { return width_; }

    /// Nothing for the root, which is rank 0.
    [[nodiscard]] std::optional<Rank> parent(Rank rank) const;
    [[nodiscard]] std::vector<Rank> children(Rank rank) const;
    /// `above` is `rank`'s parent, or the parent's parent, and so on.
    [[nodiscard]] bool is_ancestor(Rank above, Rank rank) const;
    /// The distance from the root.
    [[nodiscard]] std::size_t depth(Rank rank) const;

  private:
    std::size_t size_;
    std::size_t width_;
};

}  // namespace stage

#include "stager/daemon/tree/tree.h"

#include "transport/base/invariant.h"

#include <algorithm>

namespace stage {

Tree::Tree(std::size_t size, std::size_t width) : size_{size}, width_{width} {
    invariant(size >= 1 && size <= 65536, "a tree has 1 to 65536 nodes");
    invariant(width >= 1, "a node may have children");
}

std::optional<Rank> Tree::parent(Rank rank) const {
    if (rank == Rank{0}) {
        return std::nullopt;
    }
    return Rank{static_cast<Rank::rep>((rank.index() - 1) / width_)};
}

std::vector<Rank> Tree::children(Rank rank) const {
    std::vector<Rank> children;
    const std::size_t first = rank.index() * width_ + 1;
    const std::size_t end = std::min(first + width_, size_);
    for (std::size_t child = first; child < end; ++child) {
        children.push_back(Rank{static_cast<Rank::rep>(child)});
    }
    return children;
}

bool Tree::is_ancestor(Rank above, Rank rank) const {
    auto next = parent(rank);
    while (next && *next > above) {
        next = parent(*next);
    }
    return next == above;
}

std::size_t Tree::depth(Rank rank) const {
    std::size_t depth = 0;
    for (auto next = parent(rank); next; next = parent(*next)) {
        ++depth;
    }
    return depth;
}

}  // namespace stage

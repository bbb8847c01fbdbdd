#include "transport/core/relay/relay_tree.h"

#include <algorithm>
#include <bit>

namespace stage::core {
namespace {

/// The parent of a position, 1 .. `last`, in a binary tree that is numbered in order: the odd
/// positions are its leaves, and a position that can be divided by 2^k, but not by 2^(k+1), is
/// at height k. Where the last positions are missing the next ancestor that exists takes the
/// missing one's place. 0: the position is the root.
std::uint32_t parent_in_order(std::uint32_t position, std::uint32_t last) {
    if (position == std::bit_floor(last)) {
        return 0;
    }
    do {
        const std::uint32_t height = position & -position;
        position = (position - height) | (2 * height);
    } while (position > last);
    return position;
}

}  // namespace

/// In order, and for the second stripe one further: what was even becomes odd. (The last
/// position becomes the first, which is odd in any case.)
std::uint32_t RelayTree::position(std::uint32_t place) const {
    return (place - 1 + stripe) % (members - 1) + 1;
}

std::uint32_t RelayTree::parent(std::uint32_t place) const {
    if (!relay.has_two_trees()) {
        return (place - 1) / relay.degree();
    }
    const std::uint32_t last = members - 1;
    const std::uint32_t above = parent_in_order(position(place), last);
    return above == 0 ? 0 : (above - 1 + last - stripe) % last + 1;
}

std::uint32_t RelayTree::depth(std::uint32_t place) const {
    std::uint32_t steps = 0;
    for (; place > 0; place = parent(place)) {
        ++steps;
    }
    return steps;
}

std::uint32_t RelayTree::size_below(std::uint32_t place) const {
    if (place == 0) {
        return members;
    }
    if (relay.has_two_trees()) {
        const std::uint32_t at = position(place);
        const std::uint32_t height = at & -at;
        return std::min(members - 1, at + height - 1) - (at - height);
    }
    std::uint64_t first = place;  // of the present level
    std::uint64_t last = place;
    std::uint64_t size = 0;
    while (first < members) {
        const std::uint64_t end = last < members ? last : members - 1;
        size += end - first + 1;
        first = first * relay.degree() + 1;
        last = last * relay.degree() + relay.degree();
    }
    return static_cast<std::uint32_t>(size);
}

}  // namespace stage::core

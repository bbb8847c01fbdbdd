// Arranges the members of a relay as a tree in which each has at most `degree` children.
//
// Degree 1 is a chain. The source is at place 0 and the others follow cyclically in rank order;
// the parent of place p is at (p - 1) / degree. Nothing is exchanged: every member computes the
// same tree.
#pragma once

#include "transport/base/units.h"

#include <cstdint>

namespace stage::core {

struct RelayTree {
    std::uint32_t members;  ///< 2 or more.
    Rank source;
    std::uint32_t degree;  ///< 1 or more.

    [[nodiscard]] std::uint32_t place(Rank rank) const {
        return (rank.value() + members - source.value()) % members;
    }
    [[nodiscard]] Rank at(std::uint32_t place) const {
        return Rank{static_cast<std::uint16_t>((place + source.value()) % members)};
    }
    /// Requires a place that is not the source's.
    [[nodiscard]] std::uint32_t parent(std::uint32_t place) const {
        return (place - 1) / degree;
    }
    /// The number of ancestors of a place: the source has none.
    [[nodiscard]] std::uint32_t depth(std::uint32_t place) const {
        std::uint32_t steps = 0;
        for (; place > 0; place = parent(place)) {
            ++steps;
        }
        return steps;
    }
    /// The number of members of the tree below a place, that place included.
    [[nodiscard]] std::uint32_t size_below(std::uint32_t place) const {
        std::uint64_t first = place;  // of the present level
        std::uint64_t last = place;
        std::uint64_t size = 0;
        while (first < members) {
            const std::uint64_t end = last < members ? last : members - 1;
            size += end - first + 1;
            first = first * degree + 1;
            last = last * degree + degree;
        }
        return static_cast<std::uint32_t>(size);
    }
};

/// The degree by which an object of this size is everywhere first.
///
/// A chain moves each byte over each link once, but its end is members - 1 hops away; with more
/// children a member's link carries the object several times, and the end is nearer. Of a hop
/// `hop_bytes` could be sent in the time that a chunk takes to pass a member: its own length,
/// and what the link carries in the delay of network and process.
[[nodiscard]] std::uint32_t relay_degree(std::uint64_t object_bytes,
                                         std::uint32_t members,
                                         std::uint64_t hop_bytes);

}  // namespace stage::core

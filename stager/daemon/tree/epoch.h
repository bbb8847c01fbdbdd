// Names one attempt at the wire-up of a stage's workers.
//
// The first epoch is the plan's. Another one begins on all nodes where PMIx fails on one of
// them, or where another program has the group's port on one: the workers start anew, and
// their cards go through the daemons. Every collective but the outcomes is part of one epoch;
// what arrives of another one is void.
#pragma once

#include "stager/daemon/tree/tree_message.h"

#include <cstdint>

namespace stage {

struct Epoch {
    std::uint32_t draws = 0;    ///< How often the group's port has been drawn again.
    std::uint16_t port = 0;     ///< The group's.
    bool cards_follow = false;  ///< Cards go through the daemons, not through PMIx.

    /// The sequence of a collective that each epoch has once; of others, what they count.
    [[nodiscard]] std::uint32_t sequence_of(Collective kind, std::uint32_t own) const {
        if (kind == Collective::listening) {
            return 2 * draws + (cards_follow ? 1 : 0);
        }
        return kind == Collective::cards ? draws : own;
    }
    /// Whether that collective can be part of this epoch.
    [[nodiscard]] bool has(Collective kind, std::uint32_t sequence) const {
        const bool is_pmix = kind == Collective::fence || kind == Collective::group;
        return kind == Collective::outcome ||
               (sequence == sequence_of(kind, sequence) && !(is_pmix && cards_follow));
    }
    [[nodiscard]] Epoch without_pmix() const {
        return {.draws = draws, .port = port, .cards_follow = true};
    }
    [[nodiscard]] Epoch at_port(std::uint16_t other) const {
        return {.draws = draws + 1, .port = other, .cards_follow = true};
    }
    [[nodiscard]] bool is_after(const Epoch& other) const {
        return draws > other.draws || (*this != other && *this == other.without_pmix());
    }

    bool operator==(const Epoch&) const = default;
};

/// How often the port may be drawn again before the stage fails.
inline constexpr std::uint32_t kPortDrawsMax = 4;

}  // namespace stage

// Keeps one daemon's seat in a group of seven, and what its parts ask for.
#pragma once

#include "stager/daemon/group/neighbour_links.h"

#include <chrono>
#include <vector>

namespace stage {

inline constexpr Instant kBegin{std::chrono::hours{1}};

/// Rank 1 has the children 3 and 4; rank 0 has 1 and 2.
inline GroupSeat seat_of_seven(Rank self, bool drops_failed = false) {
    return {.key = {.job_id = 7},
            .tree = Tree{7, 2},
            .self = self,
            .names = {"n0", "n1", "n2", "n3", "n4", "n5", "n6"},
            .places = {},
            .plan = {},
            .context_base = 1000,
            .drops_failed = drops_failed,
            .epoch = {.draws = 0, .port = 5000, .cards_follow = false}};
}

struct NeighboursWorld {
    explicit NeighboursWorld(Rank self, bool drops_failed = false)
        : seat{seat_of_seven(self, drops_failed)}, links{seat, GroupTimes{}, kBegin} {
        links.connect();
        for (const Rank child : seat.tree.children(self)) {
            static_cast<void>(links.on_up(kBegin, child));
        }
        static_cast<void>(seat.is_root() || links.take_parent(kBegin, Rank{0}));
        static_cast<void>(links.take_commands());
    }
    NeighboursWorld(const NeighboursWorld&) = delete;
    NeighboursWorld& operator=(const NeighboursWorld&) = delete;
    ~NeighboursWorld() = default;

    /// What was asked for since the last call, of that kind.
    template <class Command>
    std::vector<Command> taken() {
        std::vector<Command> all;
        for (group::Command& command : links.take_commands()) {
            if (auto* one = std::get_if<Command>(&command)) {
                all.push_back(std::move(*one));
            }
        }
        return all;
    }

    GroupSeat seat;
    NeighbourLinks links;
};

}  // namespace stage

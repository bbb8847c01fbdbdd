// What if a member can't open the group's port? The part of Group that has another drawn.
#include "stager/daemon/group.h"

#include <algorithm>

namespace stage {

void Group::request_port(Instant now,
                         std::vector<std::uint16_t> taken,
                         const std::string& why) {
    ask_for_port(
        now,
        {.move = moved_.move, .port = 0, .rank = seat_.self, .taken = std::move(taken)},
        why);
}

void Group::ask_for_port(Instant now, PortsMessage asked, const std::string& why) {
    if (verdict_ || asked.move != moved_.move || asked.rank.index() >= seat_.tree.size()) {
        return;  // It is being drawn again already.
    }
    if (moved_.move >= group::kMovesMax || gathers_.count({Collective::outcome, 0}) > 0) {
        fail(now, Failure{asked.rank, Blame::node, why});
    } else if (is_root()) {
        taken_.insert(asked.taken.begin(), asked.taken.end());
        commands_.emplace_back(group::DrawPort{asked.rank, taken_});
    } else {
        send_above(std::move(asked));
    }
}

void Group::move_to(std::uint16_t port) {
    on_move({.move = moved_.move + 1, .port = port, .rank = {}, .taken = {}});
}

void Group::on_move(PortsMessage moved) {
    if (verdict_ || moved.move <= moved_.move) {
        return;
    }
    moved_ = std::move(moved);
    direct_ = true;
    std::erase_if(gathers_, [this](const auto& one) { return is_of_earlier_move(one.first); });
    send_below(moved_);
    commands_.emplace_back(group::Move{moved_.move, moved_.port});
}

/// Workers of before are gone, and what they said is of no use: cards count the moves, and
/// listening counts every new wire-up (docs/WIRING.md).
bool Group::is_of_earlier_move(GatherKey key) const {
    const auto [kind, sequence] = key;
    if (moved_.move == 0 || kind == Collective::outcome) {
        return false;
    }
    if (kind == Collective::cards) {
        return sequence < moved_.move;
    }
    return kind != Collective::listening || sequence < 2 * moved_.move;
}

}  // namespace stage

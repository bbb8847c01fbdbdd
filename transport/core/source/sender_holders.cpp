// Skips blocks that members hold already.
#include "transport/core/source/sender_parts.h"

#include <algorithm>

namespace stage::core {

/// A member that holds the object is done, and the source does not wait for it. If all do,
/// nothing is sent.
void Sender::Parts::skip_complete_members() {
    const RankSet& holders = readiness.holders();
    for (std::uint32_t i = 0; holders.count() > 0 && i < config.members; ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (holders.has(rank)) {
            verdict.on_done(rank);
            board.leave_out(rank);
        }
    }
    if (holders.count() + 1 == config.members) {
        pass.withhold(read_from());
    } else {
        skip_what_all_hold();
    }
}

/// (No member holds a part of an object with parities, because one code covers all its blocks.)
void Sender::Parts::skip_what_all_hold() {
    const bool has_parities = parities_for(config, shape, limits.parity) > 0;
    if (readiness.held_by_all() > 0 && pass.cursor() == Position{} && !has_parities) {
        pass.skip(readiness.held_by_all(), read_from());
    }
}

/// For its own sake the source needs no block before.
std::uint32_t Sender::Parts::read_from() const {
    if (config.holds_already) {
        return shape.blocks;
    }
    const bool has_first =
        !config.held_before.empty() && config.held_before.front().first == BlockIndex{0};
    return has_first ? std::min(config.held_before.front().count, shape.blocks) : 0;
}

}  // namespace stage::core

#include "transport/core/feedback/broadcast_result.h"

#include <algorithm>

namespace stage::core {

std::vector<DroppedMember> BroadcastResult::dropped() const {
    std::vector<DroppedMember> members;
    std::ranges::copy_if(dropped_, std::back_inserter(members), [this](const auto& each) {
        return !done_.has(each.rank);
    });
    std::ranges::sort(members, {}, &DroppedMember::rank);
    return members;
}

/// A broadcast that reached no receiver is no success.
std::optional<DroppedMember> BroadcastResult::failure() const {
    if (!failed_ && dropped_count() > 0 && dropped_count() + 1 == done_.members()) {
        return dropped_.front();
    }
    return failed_;
}

}  // namespace stage::core

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
    const std::size_t receivers = done_.members() - 1U;
    if (!failed_ && !dropped_.empty() && dropped().size() == receivers) {
        return dropped_.front();
    }
    return failed_;
}

}  // namespace stage::core

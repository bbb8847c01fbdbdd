#include "stager/cache/fair_places.h"

#include "transport/base/invariant.h"

namespace stage {

bool FairPlaces::take(std::uint32_t uid) {
    const auto user = of_users_.find(uid);
    const std::size_t has = user == of_users_.end() ? 0 : user->second;
    if (taken_ >= all_ || has >= all_ - taken_) {
        return false;
    }
    ++of_users_[uid];
    ++taken_;
    return true;
}

void FairPlaces::leave(std::uint32_t uid) {
    const auto user = of_users_.find(uid);
    invariant(user != of_users_.end(), "a user who leaves a place has one");
    if (--user->second == 0) {
        of_users_.erase(user);
    }
    --taken_;
}

}  // namespace stage

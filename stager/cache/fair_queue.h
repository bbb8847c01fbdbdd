// Serves the requests of several users in turn (round robin).
//
// The users take turns, and each user's items are served in the order of arrival. So an item
// waits for at most one item of each other user, however many they have queued. A user without
// a free place (fair_places.h) is refused.
#pragma once

#include "stager/cache/fair_places.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace stage {

template <class Item>
class FairQueue {
  public:
    explicit FairQueue(std::size_t places) : places_{places} {}

    /// Returns false, and drops `item`, if this user has too many items in the queue.
    [[nodiscard]] bool push(std::uint32_t uid, Item item) {
        if (!places_.take(uid)) {
            return false;
        }
        of_users_[uid].push_back(std::move(item));
        return true;
    }

    /// Returns the next item among the users that `may_go` accepts; it is called in their turn.
    template <class MayGo>
    [[nodiscard]] std::optional<Item> pop(MayGo may_go) {
        auto at = of_users_.upper_bound(last_);
        for (std::size_t asked = 0; asked < of_users_.size(); ++asked, ++at) {
            at = at == of_users_.end() ? of_users_.begin() : at;
            if (may_go(at->first)) {
                return take(at);
            }
        }
        return std::nullopt;
    }

  private:
    using OfUsers = std::map<std::uint32_t, std::deque<Item>>;

    [[nodiscard]] Item take(typename OfUsers::iterator user) {
        last_ = user->first;
        Item item = std::move(user->second.front());
        user->second.pop_front();
        if (user->second.empty()) {
            of_users_.erase(user);
        }
        places_.leave(last_);
        return item;
    }

    FairPlaces places_;
    OfUsers of_users_;
    std::uint32_t last_ = 0;  ///< The user that was served last.
};

}  // namespace stage

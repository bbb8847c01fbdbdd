// Several users wait for the same few hands: whose turn is it?
//
// The users' in turn, and of each what came first; so one thing of a user waits for at most one
// of each other's, however many they have. Who has no place more (fair_places.h) is refused.
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

    /// False: this user has too many that wait, and `item` is gone.
    [[nodiscard]] bool push(std::uint32_t uid, Item item) {
        if (!places_.take(uid)) {
            return false;
        }
        of_users_[uid].push_back(std::move(item));
        return true;
    }

    /// What is next of the users that `may_go`, who are asked in turn.
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
    std::uint32_t last_ = 0;  ///< Whose turn it was.
};

}  // namespace stage

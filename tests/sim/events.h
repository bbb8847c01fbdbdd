// What happens next?
//
// The earliest event; of two at one time the one that was planned first, so that a run is the
// same every time.
#pragma once

#include "transport/base/units.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace stage::sim {

class Events {
  public:
    using Action = std::function<void()>;

    /// An instant before now is now.
    void at(Instant when, Action action) {
        queue_.push({.when = when < now_ ? now_ : when, .order = next_++, .slot = put(action)});
    }

    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] bool is_empty() const { return queue_.empty(); }
    [[nodiscard]] Instant next() const { return queue_.top().when; }
    [[nodiscard]] std::uint64_t count() const { return count_; }

    void step() {
        const Entry entry = queue_.top();
        queue_.pop();
        now_ = entry.when;
        ++count_;
        const Action action = std::move(actions_[entry.slot]);
        free_.push_back(entry.slot);
        action();
    }

  private:
    struct Entry {
        Instant when;
        std::uint64_t order;
        std::uint32_t slot;
        bool operator<(const Entry& other) const {
            return when != other.when ? when > other.when : order > other.order;
        }
    };

    std::uint32_t put(Action& action) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(actions_.size()));
            actions_.emplace_back();
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        actions_[slot] = std::move(action);
        return slot;
    }

    Instant now_{};
    std::uint64_t next_ = 0;
    std::uint64_t count_ = 0;
    std::priority_queue<Entry> queue_;
    std::vector<Action> actions_;
    std::vector<std::uint32_t> free_;
};

}  // namespace stage::sim

// Keeps what an event is about, while the event has its number only.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace stage::sim {

template <class Item>
class Parking {
  public:
    /// The number under which it is kept.
    [[nodiscard]] std::uint64_t park(Item item) {
        if (free_.empty()) {
            free_.push_back(items_.size());
            items_.emplace_back();
        }
        const std::uint64_t index = free_.back();
        free_.pop_back();
        items_[index] = std::move(item);
        return index;
    }
    /// Requires the number of one that is parked.
    [[nodiscard]] Item unpark(std::uint64_t index) {
        free_.push_back(index);
        return std::exchange(items_[index], {});
    }

  private:
    std::vector<Item> items_;
    std::vector<std::uint64_t> free_;  ///< Numbers that are not in use.
};

}  // namespace stage::sim

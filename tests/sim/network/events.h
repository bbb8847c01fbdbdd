// The queue of simulated events.
//
// The earliest event comes first, and of two at the same time the one that was planned first,
// so that a run is the same every time. An event is a member function, its object, and a
// number: nothing is allocated for it.
#pragma once

#include "transport/base/units.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stage::sim {

class Events {
  public:
    /// Plans `Happening(what)` of `target`, which must outlive it. An instant before now is
    /// now.
    template <auto Happening, class Target>
    void at(Instant when, Target& target, std::uint64_t what = 0) {
        const Action action = [](void* object, std::uint64_t number) {
            (static_cast<Target*>(object)->*Happening)(number);
        };
        heap_.push_back({.when = when < now_ ? now_ : when,
                         .order = next_++,
                         .action = action,
                         .target = &target,
                         .what = what});
        std::ranges::push_heap(heap_, is_later);
    }

    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] bool is_empty() const { return heap_.empty(); }
    [[nodiscard]] Instant next() const { return heap_.front().when; }
    [[nodiscard]] std::uint64_t count() const { return count_; }

    void step() {
        std::ranges::pop_heap(heap_, is_later);
        const Event event = heap_.back();
        heap_.pop_back();
        now_ = event.when;
        ++count_;
        event.action(event.target, event.what);
    }

  private:
    using Action = void (*)(void* target, std::uint64_t what);
    struct Event {
        Instant when;
        std::uint64_t order;
        Action action;
        void* target;
        std::uint64_t what;
    };
    static bool is_later(const Event& one, const Event& other) {
        return one.when != other.when ? one.when > other.when : one.order > other.order;
    }

    Instant now_{};
    std::uint64_t next_ = 0;
    std::uint64_t count_ = 0;
    std::vector<Event> heap_;
};

}  // namespace stage::sim

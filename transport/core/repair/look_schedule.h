// Decides when a receiver next looks for missing chunks.
//
// Looks are spaced, so that a request gathers several chunks, unless something happened. After
// a look that found no room the next one waits for it.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/object_shape.h"

#include <algorithm>
#include <optional>

namespace stage::core {

class LookSchedule {
  public:
    /// Something may be missing: look when the spacing allows it.
    void look(Instant at) { look_at_ = look_at_ ? std::min(*look_at_, at) : at; }
    void look_at_once(Instant now) {
        next_ = now;
        look(now);
    }

    /// True if it is time. Then a look begins, and the next one is no earlier than `spacing`
    /// from now.
    [[nodiscard]] bool begin(Instant now, Duration spacing) {
        if (now < next_) {
            return false;
        }
        next_ = now + spacing;
        look_at_.reset();
        return true;
    }
    /// The present look has found no room for a request.
    [[nodiscard]] bool has_no_room(Instant now) const { return look_at_ && *look_at_ <= now; }
    /// The next answer makes room, and look_at_once() follows.
    void wait_for_answers() { look_at_.reset(); }
    void wait_until(Instant at) {
        look_at_ = at;
        next_ = at;
    }

    [[nodiscard]] std::optional<Instant> deadline() const {
        return look_at_ ? std::optional{std::max(*look_at_, next_)} : std::nullopt;
    }

  private:
    Instant next_ = kLongAgo;  ///< The next look is not earlier, unless something happened.
    std::optional<Instant> look_at_;  ///< Something is missing: look for it then.
};

}  // namespace stage::core

// Decides when a source that has nothing to send says that it is alive.
//
// It does so soon after it fell silent, and then more and more rarely.
#pragma once

#include "transport/base/units.h"

#include <algorithm>

namespace stage::core {

class KeepAlive {
  public:
    /// The gap doubles from `first` to `most`.
    KeepAlive(Duration first, Duration most) : first_{first}, most_{most}, gap_{first} {}

    /// Data went to the group.
    void on_data(Instant now) {
        spoken_at_ = now;
        gap_ = first_;
    }
    /// Something else went to the group.
    void on_spoken(Instant now) { spoken_at_ = now; }
    /// A keep-alive did.
    void on_kept_alive(Instant now) {
        spoken_at_ = now;
        gap_ = std::min(gap_ * 2, most_);
    }
    /// `is_paced`: the source only waits for tokens, and continues by itself. On a slow link
    /// bursts are further apart than the first gap, and a keep-alive after each would take a
    /// share of the rate and wake all receivers.
    [[nodiscard]] Instant next(bool is_paced) const {
        return spoken_at_ + (is_paced ? most_ : gap_);
    }

  private:
    Duration first_;
    Duration most_;
    Duration gap_;
    Instant spoken_at_{};
};

}  // namespace stage::core

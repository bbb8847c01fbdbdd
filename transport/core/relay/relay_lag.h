// Tells a member of a relay that it is slower than its parent.
//
// The parent says by PULSE how many blocks it holds. A member that in two intervals in a row
// gained less than three quarters of what its parent gained, and is behind it by more than may
// be under way, is slow: a member that only paused falls behind once, and then keeps up. An
// interval is the time in which the parent gained at least 16 blocks.
#pragma once

#include <cstdint>
#include <optional>

namespace stage::core {

class RelayLag {
  public:
    /// `behind_min`: blocks that may be under way.
    explicit RelayLag(std::uint32_t behind_min) : behind_min_{behind_min} {}

    /// Another parent.
    void restart() { *this = RelayLag{behind_min_}; }
    /// Blocks that the parent and this member hold. True if the member is slow.
    [[nodiscard]] bool on_pulse(std::uint32_t parents, std::uint32_t own);

  private:
    struct Mark {
        std::uint32_t parents;
        std::uint32_t own;
    };

    std::uint32_t behind_min_;
    std::optional<Mark> from_;
    bool was_slow_ = false;
};

}  // namespace stage::core

#include "transport/core/relay/relay_lag.h"

#include <utility>

namespace stage::core {
namespace {

constexpr std::uint32_t kIntervalBlocks = 16;

}  // namespace

bool RelayLag::on_pulse(std::uint32_t parents, std::uint32_t own) {
    if (!from_ || parents < from_->parents) {
        from_ = Mark{.parents = parents, .own = own};
        was_slow_ = false;
        return false;
    }
    const std::uint32_t gained = parents - from_->parents;
    if (gained < kIntervalBlocks) {
        return false;
    }
    const std::uint32_t own_gained = own - from_->own;
    const bool is_slow = 4 * own_gained < 3 * gained && parents >= own + behind_min_;
    from_ = Mark{.parents = parents, .own = own};
    return std::exchange(was_slow_, is_slow) && is_slow;
}

}  // namespace stage::core

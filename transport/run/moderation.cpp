#include "transport/run/moderation.h"

#include <algorithm>

namespace stage {
namespace {

/// Wake-ups over which the pace is smoothed, if each brings fewer packets than are waited for.
/// (More of them are a measurement. Smoothed, the pauses of OFFERs counted for fifty wake-ups,
/// and a fast stream filled the socket meanwhile.)
constexpr int kMemory = 8;

}  // namespace

void Moderation::on_heard(Instant now, std::size_t packets) {
    last_ = packets;
    if (packets == 0) {
        return;
    }
    // A pause says nothing about the pace: it counts as the longest possible wait.
    const Duration since = std::min(now - last_at_, limits_.at_most);
    const Duration each = since / static_cast<std::int64_t>(packets);
    if (packets >= limits_.packets) {
        between_ = each;
    } else if (heard_ > 0) {
        between_ += (each - between_) / kMemory;
    }
    heard_ += packets;
    last_at_ = now;
}

Duration Moderation::wait_max() const {
    if (last_ == 0 || heard_ < limits_.after) {
        return Duration::zero();
    }
    const Duration all = between_ * static_cast<std::int64_t>(limits_.packets);
    return all < limits_.least ? Duration::zero() : std::min(all, limits_.at_most);
}

}  // namespace stage

// How fast does a member pull?
#include "transport/core/puller.h"

#include <algorithm>

namespace stage::core {
namespace {

/// Chance may take as much, however slowly it is asked for: this part of the stream's rate
/// is never too much.
constexpr unsigned kLeastPart = 16;

}  // namespace

/// What pulls may have of the rate beside the stream.
std::uint64_t Puller::stream_share() const {
    return std::max<std::uint64_t>(rate_ / 100 * limits_.stream_share_percent, 1);
}

void Puller::on_stream(Instant now, std::uint64_t bytes_per_s) {
    if (is_told_ || has_link(now) || alone_ || bytes_per_s == 0) {
        return;
    }
    is_stream_known_ = true;
    least_rate_ = std::clamp(bytes_per_s / kLeastPart,
                             rate_limits_.least_bytes_per_s,
                             rate_limits_.most_bytes_per_s);
    set_rate(bytes_per_s / 10 * 9);
}

void Puller::set_rate(std::uint64_t bytes_per_s) {
    rate_ = std::clamp(bytes_per_s, least_rate_, rate_limits_.most_bytes_per_s);
}

/// The first pass is over, or stands still: perhaps it waits for what is asked for here.
bool Puller::has_link(Instant now) const {
    return is_ended_ || (stream_at_ && now >= *stream_at_ + limits_.stream_pause);
}

void Puller::follow_rate(Instant now) {
    const std::uint64_t rate = has_link(now) ? rate_ : stream_share();
    if (!alone_ && rate != pacer_.rate_bytes_per_s()) {
        pacer_.set_rate(now, rate);
    }
}

/// Where no rate was told, and no stream tells it.
void Puller::search_rate(Instant now, const Asked& ended) {
    if (is_told_ || alone_ || (is_stream_known_ && !has_link(now))) {
        return;
    }
    set_rate(search_.on_request(now, ended.sent_at, ended.given, ended.left, rate_));
}

}  // namespace stage::core

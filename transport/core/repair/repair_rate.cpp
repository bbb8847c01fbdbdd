#include "transport/core/repair/repair_rate.h"

#include <algorithm>

namespace stage::core {
namespace {

/// Random loss takes as much however slow the requests are: this part of the stream's rate is
/// never too much.
constexpr std::uint64_t kLeastPart = 16;
/// Tenths of the stream's rate: a link that carries the stream carries repairs as fast, and
/// other packets beside them.
constexpr std::uint64_t kStreamTenths = 9;

}  // namespace

RepairRate::RepairRate(const CoreConfig& config, const Limits& limits)
    : limits_{limits.rate},
      stream_pause_{limits.repair.stream_pause},
      share_percent_{limits.repair.stream_share_percent},
      is_configured_{config.rate_bytes_per_s > 0},
      least_{limits.rate.least_bytes_per_s},
      rate_{is_configured_ ? config.rate_bytes_per_s : limits.rate.start_bytes_per_s},
      search_{config.chunk_bytes + kWireOverheadBytes} {
}

std::uint64_t RepairRate::share_bytes_per_s() const {
    return std::max<std::uint64_t>(rate_ / 100 * share_percent_, 1);
}

/// The first pass is over, or stands still: perhaps it waits for what is requested here.
bool RepairRate::has_link(Instant now) const {
    return is_ended_ || (stream_at_ && now >= *stream_at_ + stream_pause_);
}

/// Each rate of the stream is followed once, because what repairs found out since is newer. A
/// stream that pauses is no slower for the path's sake. (It may wait for just these repairs:
/// repairs that followed it would slow it down, and it them, down to the least rate.)
void RepairRate::on_stream(Instant now, const StreamRate& stream) {
    if (is_configured_ || has_link(now) || stream.bytes_per_s == followed_ ||
        (is_stream_known_ && !stream.is_steady)) {
        return;
    }
    followed_ = stream.bytes_per_s;
    is_stream_known_ = true;
    least_ = std::clamp(
        stream.bytes_per_s / kLeastPart, limits_.least_bytes_per_s, limits_.most_bytes_per_s);
    set(stream.bytes_per_s / 10 * kStreamTenths);
}

/// The search counts if no rate is configured and no stream shows one.
void RepairRate::on_request_end(Instant now, const RepairRequest& ended) {
    if (!is_configured_ && (!is_stream_known_ || has_link(now))) {
        set(search_.on_request(now, ended.sent_at, ended.given, ended.left, rate_));
    }
}

void RepairRate::set(std::uint64_t bytes_per_s) {
    rate_ = std::clamp(bytes_per_s, least_, limits_.most_bytes_per_s);
}

}  // namespace stage::core

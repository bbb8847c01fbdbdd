// How much may be asked for, before answers come?
//
// What the pace brings in a round trip; or, of a member that fetches alone because somebody
// else is on its path, what a TCP flow would have under way (RFC 9438).
#include "transport/core/puller.h"

#include <algorithm>
#include <chrono>

namespace stage::core {
namespace {

/// Faster than the window's own pace, so that the window bounds what is under way.
constexpr double kPace = 1.25;
/// So many times as many peers are asked before the source, while it has others to serve.
constexpr unsigned kPatience = 4;

double trip_of(const RoundTrip& trip) {
    return std::max(static_cast<double>(trip.mean().count()) / 1e9, 1e-4);
}

}  // namespace

std::uint32_t Puller::window() const {
    if (alone_) {
        return alone_window();
    }
    const Duration span = round_trip_.mean() + limits_.in_flight_slack;
    const std::uint64_t bytes =
        pacer_.rate_bytes_per_s() / 1'000'000 * static_cast<std::uint64_t>(span.count() / 500);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        bytes / packet_bytes_, limits_.in_flight_chunks_min, limits_.in_flight_chunks_max));
}

/// A request asks for chunks of one block: to gather for longer than that takes saves none.
Duration Puller::gather_time() const {
    return std::min(limits_.gather_time, time_of(kBlockBytes));
}

/// What one request asked for takes so long to come, and makes room for the next.
Duration Puller::answer_time() const {
    const std::uint64_t bytes = std::uint64_t{request_max()} * packet_bytes_;
    return std::clamp(stage::time_of(bytes, pacer_.rate_bytes_per_s()),
                      limits_.look_time_min,
                      limits_.gather_time);
}

bool Puller::has_room(Instant now) {
    // (Of a window's room a request uses a good part: else each answer would bring a new one.)
    if (alone_ && in_flight_ + std::max(request_max() / 2, 1U) > window()) {
        return false;
    }
    return asked_.size() < limits_.requests_max && in_flight_ < window() &&
           pacer_.credit(now) > 0;
}

void Puller::set_alone(Instant now, std::uint64_t bytes_per_s) {
    const bool is_alone = bytes_per_s > 0;
    alone_rate_ = bytes_per_s;
    if (is_alone == alone_.has_value()) {
        return;
    }
    if (is_alone) {
        alone_.emplace().begin(now, alone_first_);
        pace_alone(now);
    } else {
        alone_.reset();
        follow_rate(now);
    }
    look(now, true);
}

std::uint32_t Puller::alone_window() const {
    return std::clamp(
        static_cast<std::uint32_t>(alone_->packets()), 2U, limits_.in_flight_chunks_max);
}

void Puller::pace_alone(Instant now) {
    if (!alone_) {
        return;
    }
    const double wanted = kPace * alone_window() * packet_bytes_ / trip_of(round_trip_);
    const auto rate = std::max(static_cast<std::uint64_t>(std::min(wanted, 1e12)),
                               rate_limits_.least_bytes_per_s);
    pacer_.set_rate(now, std::max<std::uint64_t>(std::min(rate, alone_rate_), 1));
}

/// The path lost something.
void Puller::shrink_alone(Instant now) {
    if (alone_) {
        alone_->on_loss(now, trip_of(round_trip_));
    }
}

/// Something came. A window that isn't full says nothing of what the path takes.
void Puller::grow_alone(Instant now) {
    if (!alone_) {
        return;
    }
    if (in_flight_ + request_max() >= alone_window()) {
        alone_->grow(now, trip_of(round_trip_));
    } else {
        alone_->rest(now);
    }
    look(now, true);
}

/// Of a small window a request takes half: the other half is under way meanwhile.
std::uint32_t Puller::request_max() const {
    return alone_
               ? std::clamp<std::uint32_t>(alone_window() / 2, 1U, limits_.request_chunks_max)
               : limits_.request_chunks_max;
}

/// Many of those who are asked may be away as well, and the source has its stream to send.
unsigned Puller::failures_max() const {
    const unsigned most = limits_.failures_before_source;
    return alone_ && !is_ended_ ? kPatience * most : most;
}

}  // namespace stage::core

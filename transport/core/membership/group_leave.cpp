#include "transport/core/membership/group_leave.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage::core {
namespace {

using wire::Standing;

constexpr Duration kTellMax = std::chrono::milliseconds{250};
/// Of a source's clock, nanoseconds: no sum or difference of such times overflows.
constexpr std::uint64_t kClockMax = std::uint64_t{1} << 61U;

}  // namespace

GroupLeave::GroupLeave(const CoreConfig& config, const Limits& limits, Prng& prng)
    : limits_{limits.leave},
      source_{config.source},
      packet_bytes_{config.chunk_bytes + kWireOverheadBytes},
      receivers_{config.members - 1U},
      report_time_{limits.feedback.report_time},
      ask_spread_{limits.ending.ready_jitter * config.members},
      unreachable_rate_{config.rate_bytes_per_s > 0 ? config.rate_bytes_per_s
                                                    : limits.rate.most_bytes_per_s},
      prng_{prng},
      queue_{limits.leave} {
}

bool GroupLeave::on_pulse(Instant now, const Datagram& datagram, const wire::Pulse& pulse) {
    is_known_ = is_known_ || pulse.echo == id_;
    away_ = std::max(away_, pulse.away);
    if (is_known_ && !is_fetching()) {
        left_due_at_.reset();
    }
    if (datagram.to_group == is_fetching() || is_unreachable()) {
        return false;  // of a standing that is over; or of a path that has no stream
    }
    queue_.expect(is_fetching() ? interval() : limits_.pulse_interval);
    queue_.on_pulse(Duration{static_cast<Duration::rep>(std::min(pulse.sent_at_ns, kClockMax))},
                    datagram.arrived_at,
                    pulse.packets,
                    std::chrono::microseconds{pulse.queue_us});
    if (is_fetching()) {
        if (may_return(datagram.arrived_at)) {
            change(now, Standing::in_group);
            return true;
        }
        return false;
    }
    if (!may_leave(datagram.arrived_at, pulse)) {
        return false;
    }
    ++times_;
    stood_ = queue_.least();
    packet_time_ = queue_.packet_time();
    is_relieved_ = false;
    relief_until_ = datagram.arrived_at + limits_.relief_time;
    change(now, Standing::away);
    return true;
}

std::uint64_t GroupLeave::fetch_bytes_per_s() const {
    if (is_unreachable()) {
        return unreachable_rate_;
    }
    const auto ns =
        static_cast<std::uint64_t>(std::max<Duration::rep>(packet_time_.count(), 1));
    return std::uint64_t{packet_bytes_} * 1'000'000'000 / ns / 2;
}

/// How much of a queue this member's own repairs since the path was last free can explain. The
/// paths of most others, with the stream alone, have no queue. (Packets that the sockets
/// dropped may have been repairs, so they count.)
Duration GroupLeave::own_share(Instant arrived, const wire::Pulse& pulse) const {
    const std::uint32_t sent = std::max(pulse.packets - empty_.sent, 1U);
    const std::uint32_t pulled = pulled_ + overflow_ - empty_.came;
    return std::max(arrived - empty_.at, Duration::zero()) / sent * pulled;
}

/// True if other traffic causes the queue: not all that was sent arrives, repairs included, or
/// the queue is longer than the own repairs can explain. (A full queue that the stream alone
/// keeps full loses little.)
bool GroupLeave::is_anothers(Instant arrived, const wire::Pulse& pulse) const {
    const std::uint64_t sent = pulse.packets - stand_.sent;
    const std::uint64_t came = arrived_ + overflow_ - stand_.came;
    const bool lacks = came * 100 + sent * limits_.lacking_percent < sent * 100;
    return lacks || queue_.least() > own_share(arrived, pulse) + queue_.noise();
}

bool GroupLeave::may_leave(Instant arrived, const wire::Pulse& pulse) {
    if (queue_.newest() < queue_.noise() / 2) {
        empty_ = {.at = arrived, .sent = pulse.packets, .came = pulled_ + overflow_};
    }
    if (queue_.stands_since() != stands_since_) {
        stands_since_ = queue_.stands_since();
        stand_ = {.at = arrived, .sent = pulse.packets, .came = arrived_ + overflow_};
        wait_ = Duration{static_cast<Duration::rep>(
            prng_.below(static_cast<std::uint64_t>(limits_.stand_time.count() / 4)))};
    }
    const Duration wanted = limits_.stand_time * (std::int64_t{1} << std::min(times_, 8U));
    const bool has_room = (pulse.away + std::uint64_t{1}) * 100U <=
                          receivers_ * std::uint64_t{limits_.away_percent_max};
    return queue_.stood() >= wanted + wait_ && has_room && !is_for_good_ &&
           times_ < limits_.leaves_max && is_anothers(arrived, pulse);
}

bool GroupLeave::may_return(Instant arrived) {
    is_relieved_ = is_relieved_ || queue_.newest() <= stood_ / 2;
    if (is_away() && !is_relieved_ && arrived >= relief_until_) {
        is_for_good_ = true;
        return true;
    }
    const auto since = queue_.free_since();
    return since && arrived - *since >=
                        limits_.free_time * (std::int64_t{1} << std::min(times_ - 1U, 8U));
}

void GroupLeave::change(Instant now, Standing standing) {
    standing_ = standing;
    is_asking_ = false;
    queue_.forget();
    stands_since_.reset();
    ++id_;
    is_known_ = false;
    gap_ = limits_.left_interval;
    left_due_at_ = now;
}

/// The interval of a member outside the group: long enough that the source can receive the
/// LEFTs of all.
Duration GroupLeave::interval() const {
    return std::max<Duration>(is_held_ ? kTellMax : limits_.left_interval,
                              report_time_ * away_);
}

bool GroupLeave::on_end(Instant now) {
    if (!is_away()) {
        return false;
    }
    change(now, Standing::fetching);
    return true;
}

bool GroupLeave::on_held(Instant now) {
    is_for_good_ = true;
    is_held_ = true;
    // (An unreachable member keeps asking, because it would not hear the end otherwise.)
    if (!is_fetching() || is_unreachable()) {
        return false;
    }
    change(now, Standing::in_group);
    return true;
}

void GroupLeave::ask(Instant now) {
    if (is_fetching()) {
        return;  // It is asked all the time.
    }
    const bool was_known = is_known_;
    change(now, standing_);
    is_asking_ = was_known;
    gap_ = std::max(gap_, ask_spread_ / 4);  // What a source that paused finds in its socket.
    left_due_at_ = now + Duration{static_cast<Duration::rep>(
                             prng_.below(static_cast<std::uint64_t>(ask_spread_.count()) + 1))};
}

void GroupLeave::stop_asking() {
    if (std::exchange(is_asking_, false)) {
        is_known_ = true;
        left_due_at_.reset();
    }
}

void GroupLeave::set_unreachable(Instant now, bool is_unreachable) {
    if (is_unreachable != this->is_unreachable()) {
        change(now, is_unreachable ? Standing::unreachable : Standing::in_group);
    }
}

void GroupLeave::go_on_as(Instant now, const GroupLeave& before) {
    id_ = before.id_;
    if (before.is_unreachable()) {
        change(now, Standing::unreachable);
    }
}

void GroupLeave::poll(Instant now, ControlQueue& out) {
    if (!left_due_at_ || now < *left_due_at_) {
        return;
    }
    left_due_at_ = now + (is_fetching() ? interval() : std::max(gap_, interval()));
    gap_ = std::min(gap_ * 2, kTellMax);
    out.push_peer(wire::PacketType::left,
                  source_,
                  wire::write(wire::Left{.id = id_, .standing = standing_}));
}

}  // namespace stage::core

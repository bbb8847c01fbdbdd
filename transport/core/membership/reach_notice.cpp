#include "transport/core/membership/reach_notice.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage::core {
namespace {

using wire::Standing;

constexpr Duration kIntervalHeld = std::chrono::milliseconds{250};

}  // namespace

ReachNotice::ReachNotice(const CoreConfig& config, const Limits& limits, Prng& prng)
    : interval_least_{limits.fetch.left_interval},
      source_{config.source},
      receivers_{config.members - 1U},
      report_time_{limits.feedback.report_time},
      ask_spread_{limits.ending.ready_jitter * config.members},
      prng_{prng} {
}

void ReachNotice::on_pulse(const wire::Pulse& pulse) {
    is_known_ = is_known_ || pulse.echo == id_;
    away_ = std::max(away_, pulse.away);
    if (is_known_ && !is_unreachable_) {
        due_at_.reset();
    }
}

void ReachNotice::change(Instant now, bool is_unreachable) {
    is_unreachable_ = is_unreachable;
    is_asking_ = false;
    ++id_;
    is_known_ = false;
    gap_ = interval_least_;
    due_at_ = now;
}

/// The interval of an unreachable member: long enough that the source can receive the LEFTs of
/// all.
Duration ReachNotice::interval() const {
    return std::max<Duration>(is_held_ ? kIntervalHeld : interval_least_, report_time_ * away_);
}

void ReachNotice::ask(Instant now) {
    if (is_unreachable_) {
        return;  // It is asked all the time.
    }
    const bool was_known = is_known_;
    change(now, false);
    is_asking_ = was_known;
    gap_ = std::max(gap_, ask_spread_ / 4);  // What a source that paused finds in its socket.
    due_at_ = now + Duration{static_cast<Duration::rep>(
                        prng_.below(static_cast<std::uint64_t>(ask_spread_.count()) + 1))};
}

void ReachNotice::stop_asking() {
    if (std::exchange(is_asking_, false)) {
        is_known_ = true;
        due_at_.reset();
    }
}

void ReachNotice::set_unreachable(Instant now, bool is_unreachable) {
    if (is_unreachable != is_unreachable_) {
        change(now, is_unreachable);
    }
}

void ReachNotice::go_on_as(Instant now, const ReachNotice& before) {
    id_ = before.id_;
    if (before.is_unreachable_) {
        change(now, true);
    }
}

void ReachNotice::poll(Instant now, ControlQueue& out) {
    if (!due_at_ || now < *due_at_) {
        return;
    }
    due_at_ = now + (is_unreachable_ ? interval() : std::max(gap_, interval()));
    gap_ = std::min(gap_ * 2, kIntervalHeld);
    const Standing standing = is_unreachable_ ? Standing::unreachable : Standing::in_group;
    out.push_peer(wire::PacketType::left,
                  source_,
                  wire::write(wire::Left{.id = id_, .standing = standing}));
}

}  // namespace stage::core

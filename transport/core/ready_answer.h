// When does a member answer an offer?
//
// Once for each offer that it hears from the group, after a short random wait in a large group,
// so that the source isn't drowned. The answer proves that the source's datagrams reach this
// member by multicast, and its own reach the source. It also says if this member needs nothing.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/control_queue.h"
#include "transport/core/limits.h"

#include <algorithm>
#include <optional>

namespace stage::core {

class ReadyAnswer {
  public:
    ReadyAnswer(const CoreConfig& config, const EndingLimits& limits, Prng& prng)
        : source_{config.source},
          spread_{std::min(limits.ready_jitter * config.members, limits.ready_jitter_max)},
          flags_{config.holds_already ? std::uint8_t{wire::kFlagHolds} : std::uint8_t{0}},
          prng_{prng} {}

    void on_offer(Instant now, const wire::Offer& offer) {
        const auto wait = prng_.below(
            static_cast<std::uint64_t>(std::max<Duration::rep>(spread_.count(), 1)));
        if (!answer_at_) {
            answer_at_ = now + Duration{static_cast<Duration::rep>(wait)};
        }
        heard_at_ = now;
        source_time_us_ = offer.source_time_us;
    }

    void poll(Instant now, ControlQueue& out) {
        if (!answer_at_ || now < *answer_at_) {
            return;
        }
        answer_at_.reset();
        const wire::Ready body{
            .source_time_us = source_time_us_,
            .hold_us = static_cast<std::uint32_t>((now - heard_at_).count() / 1000)};
        out.push_peer(wire::PacketType::ready, source_, wire::write(body), flags_);
    }

    [[nodiscard]] std::optional<Instant> deadline() const { return answer_at_; }

  private:
    Rank source_;
    Duration spread_;
    std::uint8_t flags_;
    Prng& prng_;
    std::optional<Instant> answer_at_;
    Instant heard_at_{};
    std::uint64_t source_time_us_ = 0;
};

}  // namespace stage::core

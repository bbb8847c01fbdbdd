// Schedules a member's answers to OFFERs.
//
// A member answers each multicast OFFER that lists it, in a large group after a short random
// delay, so that the source is not flooded with answers. READY proves that the source's
// datagrams reach this member by multicast and that its own reach the source. It also says
// whether this member needs nothing, or how many of the first blocks it does not need.
//
// A later OFFER that still lists this member shows that its earlier answers did not arrive. If
// that goes on for long, this member hears the source but is not heard.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/limits.h"
#include "transport/core/sending/control_queue.h"

#include <algorithm>
#include <optional>

namespace stage::core {

/// The random delay before a packet to the source that the whole group may want to send at
/// once.
[[nodiscard]] inline Duration answer_wait(const CoreConfig& config,
                                          const EndingLimits& limits,
                                          Prng& prng) {
    const Duration spread = limits.ready_jitter * config.members;
    return Duration{static_cast<Duration::rep>(
        prng.below(static_cast<std::uint64_t>(std::max<Duration::rep>(spread.count(), 1))))};
}

class ReadyResponder {
  public:
    ReadyResponder(const CoreConfig& config, const EndingLimits& limits, Prng& prng)
        : config_{config},
          limits_{limits},
          flags_{config.holds_already ? std::uint8_t{wire::kFlagHolds} : std::uint8_t{0}},
          prng_{prng} {}

    /// This number of first blocks is already here.
    void hold(std::uint32_t blocks) { held_ = blocks; }

    /// `soon`: the object comes with the OFFER, so DONE may soon say as much.
    void on_offer(Instant now, const wire::Offer& offer, bool soon) {
        if (!is_asked(offer)) {
            answered_at_.reset();
            return;
        }
        // If no OFFER arrived for a while the path was broken in both directions, and earlier
        // answers say nothing.
        if (now - heard_at_ > kPauses * limits_.offer_max) {
            answered_at_.reset();
        }
        unheard_ = answered_at_ && is_named(offer) ? now - *answered_at_ : Duration{};
        const std::size_t awaited = count_awaited(offer);
        are_all_unheard_ = awaited > 1 && awaited + 1 == config_.members;
        if (!answer_at_) {
            const bool is_few = config_.members <= limits_.confirming_members_max;
            const Duration spread = is_few ? Duration{} : answer_wait(config_, limits_, prng_);
            const Duration timeout =
                std::min<Duration>(limits_.offer_max, config_.ready_timeout / 4);
            answer_at_ = now + spread + (soon ? timeout : Duration{});
        }
        heard_at_ = now;
        source_time_us_ = offer.source_time_us;
    }

    /// DONE replaces the answer.
    void stop() { answer_at_.reset(); }

    void poll(Instant now, ControlQueue& out) {
        if (!answer_at_ || now < *answer_at_) {
            return;
        }
        answer_at_.reset();
        answered_at_ = answered_at_.value_or(now);
        const wire::Ready body{
            .source_time_us = source_time_us_,
            .hold_us = static_cast<std::uint32_t>((now - heard_at_).count() / 1000),
            .held = held_};
        out.push_peer(wire::PacketType::ready, config_.source, wire::write(body), flags_);
    }

    [[nodiscard]] std::optional<Instant> deadline() const { return answer_at_; }

    /// For how long the source has not heard this member, although it answered.
    [[nodiscard]] Duration unheard() const { return unheard_; }
    /// The source heard none of several members.
    [[nodiscard]] bool are_all_unheard() const { return are_all_unheard_; }

  private:
    /// An OFFER no longer lists members that have answered.
    [[nodiscard]] bool is_asked(const wire::Offer& offer) const {
        return offer.awaited.empty() ||
               std::ranges::any_of(offer.awaited, [this](const wire::RankRun& run) {
                   return run.first <= config_.own && config_.own <= run.last;
               });
    }

    /// If there is no room for all runs, the last one covers other members, too.
    [[nodiscard]] bool is_named(const wire::Offer& offer) const {
        const bool is_cut = offer.awaited.size() == wire::kMaxAwaitedRuns;
        return !offer.awaited.empty() && (!is_cut || config_.own < offer.awaited.back().first);
    }
    [[nodiscard]] static std::size_t count_awaited(const wire::Offer& offer) {
        std::size_t count = 0;
        for (const wire::RankRun& run : offer.awaited) {
            count += run.last.index() - run.first.index() + 1U;
        }
        return count;
    }

    /// OFFERs that may be lost one after another.
    static constexpr int kPauses = 8;

    CoreConfig config_;
    EndingLimits limits_;
    std::uint8_t flags_;
    Prng& prng_;
    std::optional<Instant> answer_at_;
    /// The first of the answers that the source did not hear.
    std::optional<Instant> answered_at_;
    Duration unheard_{};
    bool are_all_unheard_ = false;
    Instant heard_at_{};
    std::uint64_t source_time_us_ = 0;
    std::uint32_t held_ = 0;
};

}  // namespace stage::core

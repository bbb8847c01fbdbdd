#include "transport/core/sending/pacer.h"

#include "transport/base/invariant.h"

#include <algorithm>

namespace stage::core {
namespace {

constexpr std::int64_t kNsPerS = 1'000'000'000;

/// The tokens of `time` at `rate`, for times that the limits keep short.
std::uint64_t tokens_of(std::uint64_t rate, Duration time) {
    return rate / 1'000'000 * static_cast<std::uint64_t>(time.count()) / 1'000 +
           rate % 1'000'000 * static_cast<std::uint64_t>(time.count()) / kNsPerS;
}

}  // namespace

Pacer::Pacer(const PacerLimits& limits,
             std::uint64_t rate_bytes_per_s,
             std::uint32_t packet_bytes)
    : limits_{limits}, rate_{rate_bytes_per_s}, packet_bytes_{packet_bytes} {
    derive();
    credit_ = burst_;
}

void Pacer::set_rate(Instant now, std::uint64_t rate_bytes_per_s) {
    static_cast<void>(credit(now));  // tokens accumulated at the old rate
    rate_ = rate_bytes_per_s;
    derive();
}

void Pacer::set_burst_factor(Instant now, std::uint32_t burst_factor) {
    static_cast<void>(credit(now));
    burst_factor_ = std::clamp(burst_factor, 1U, limits_.burst_factor_max);
    derive();
    credit_ = std::min(credit_, credit_max_);
}

void Pacer::derive() {
    invariant(rate_ > 0, "a pacer has a rate");
    const std::uint64_t two_packets = std::uint64_t{2} * packet_bytes_;
    const std::uint64_t most = std::max({std::uint64_t{limits_.burst_bytes_max},
                                         tokens_of(rate_, limits_.burst_time_min),
                                         2 * two_packets});
    const std::uint64_t few =
        std::max(std::min(tokens_of(rate_, limits_.burst_time_max),
                          std::uint64_t{limits_.burst_packets} * packet_bytes_),
                 two_packets);
    // A wake-up is planned when half of the largest burst has accumulated: the other half is
    // for lateness.
    burst_ = static_cast<std::uint32_t>(
        std::min(std::max(tokens_of(rate_, limits_.burst_time), few), most / 2));
    credit_max_ = static_cast<std::int64_t>(
        std::clamp<std::uint64_t>(tokens_of(rate_, limits_.credit_age_max * burst_factor_),
                                  2 * std::uint64_t{burst_},
                                  most * burst_factor_));
}

std::int64_t Pacer::credit(Instant now) {
    if (!is_started_) {
        is_started_ = true;
        at_ = now;
    }
    const Duration elapsed = std::max(now - at_, Duration::zero());
    at_ = std::max(at_, now);
    // A debt (control packets are sent without tokens) is repaid in full; tokens are bounded.
    const std::int64_t room = credit_max_ - credit_;
    const std::uint64_t until_full_ns =
        rate_ > 0 ? static_cast<std::uint64_t>(room + 1) * kNsPerS / rate_ + 1 : 0;
    if (room <= 0 || static_cast<std::uint64_t>(elapsed.count()) >= until_full_ns) {
        has_forgotten_ = has_forgotten_ || elapsed > limits_.burst_time;
        credit_ = std::max(credit_, credit_max_);
        carry_ = 0;
        return credit_;
    }
    const auto rate = static_cast<std::int64_t>(rate_);
    const std::int64_t whole_us = elapsed.count() / 1000;
    const std::int64_t rest_ns = elapsed.count() % 1000;
    // rate * elapsed in billionths of a byte; no overflow, because elapsed < until_full_ns.
    const std::int64_t billionths =
        rate * whole_us % 1'000'000 * 1000 + rate * rest_ns + carry_;
    credit_ += rate * whole_us / 1'000'000 + billionths / kNsPerS;
    carry_ = billionths % kNsPerS;
    credit_ = std::min(credit_, credit_max_);
    return credit_;
}

void Pacer::rest(Instant now) {
    const bool had_forgotten = has_forgotten_;
    static_cast<void>(credit(now));
    has_forgotten_ = had_forgotten;
}

Instant Pacer::burst_at(Instant now) const {
    const std::int64_t lacking = std::int64_t{burst_} - credit_;
    if (lacking <= 0 || !is_started_) {
        return now;
    }
    const auto rate = static_cast<std::int64_t>(rate_);
    const std::int64_t us = lacking * 1'000'000 / rate;
    return std::max(now, at_ + Duration{(us + 1) * 1000});
}

}  // namespace stage::core

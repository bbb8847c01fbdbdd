#include "transport/hop/hop_rate.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage::hop {
namespace {

/// Datagrams that leave before anything is known of the path: as many as careful peers' first
/// window three times over (RFC 6928 has 10), because a leg's ends know each other.
constexpr std::uint64_t kFirstDatagrams = 32;
/// Fewer are never under way, or no acknowledgement could tell a loss from a delay.
constexpr std::uint64_t kFewestDatagrams = 4;
/// The smallest gain with which the delivered rate doubles each RTT: 2 / ln 2.
constexpr double kStartGain = 2.89;
constexpr double kWindowGain = 2.0;
constexpr std::array kCruiseGains{1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
/// A rate that has grown by less within a round is the same rate.
constexpr double kGrowth = 1.25;
constexpr int kFlatRounds = 3;
/// A queue that is too short for the start loses a third and more of a round; chance does not.
constexpr double kMuchLost = 0.2;
constexpr Duration kShortestFor = std::chrono::seconds{10};
constexpr Duration kMeasureFor = std::chrono::milliseconds{200};
/// For a path that is not a long one: below that the host's own clock is what is measured.
constexpr Duration kRoundTripMin = std::chrono::microseconds{100};
/// What an acknowledgement, a burst and two wake-ups take together, beside the RTT.
constexpr Duration kGathered = std::chrono::milliseconds{5};
/// A round and a phase of cruising are no shorter: in less time hosts' pauses are measured.
constexpr Duration kRoundMin = std::chrono::milliseconds{20};

std::uint64_t times(std::uint64_t value, double factor) {
    return static_cast<std::uint64_t>(static_cast<double>(value) * factor);
}

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace

HopRate::HopRate(std::uint32_t datagram_bytes, std::uint64_t rate_max)
    : datagram_bytes_{datagram_bytes}, rate_max_{rate_max} {
}

void HopRate::begin(Instant now, Duration round_trip) {
    shortest_ = std::max(round_trip, kRoundTripMin);
    shortest_at_ = now;
}

void HopRate::on_delivery(Instant now, const Delivery& delivery) {
    count_round(now, delivery);
    learn_rate(delivery);
    const bool is_stale = learn_round_trip(now, delivery.round_trip);
    look_for_the_top(delivery);
    move_on(now, delivery, is_stale);
}

/// A round ends when something is delivered that left after the round began.
void HopRate::count_round(Instant now, const Delivery& delivery) {
    is_new_round_ = delivery.delivered_before >= round_ends_at_ && now - round_at_ >= kRoundMin;
    if (is_new_round_) {
        const auto lost = static_cast<double>(delivery.lost - lost_before_);
        const auto arrived = static_cast<double>(delivery.delivered - delivered_before_);
        is_lossy_ = lost > kMuchLost * (lost + arrived);
        lost_before_ = delivery.lost;
        delivered_before_ = delivery.delivered;
        round_at_ = now;
        round_ends_at_ = delivery.delivered;
        ++round_;
    }
}

/// What was delivered while there was little to send shows no limit of the path.
void HopRate::learn_rate(const Delivery& delivery) {
    if (delivery.interval <= Duration::zero() || delivery.interval < shortest_ / 2) {
        return;
    }
    const auto rate = static_cast<std::uint64_t>(
        static_cast<double>(delivery.delivered - delivery.delivered_before) /
        seconds(delivery.interval));
    if (delivery.is_source_limited && rate <= most_delivered()) {
        return;
    }
    if (std::exchange(rate_round_, round_) != round_) {
        rate_at_ = (rate_at_ + 1) % kRounds;
        rates_[rate_at_] = 0;
    }
    rates_[rate_at_] = std::max(rates_[rate_at_], rate);
}

/// True if the shortest RTT is an old one.
bool HopRate::learn_round_trip(Instant now, Duration sample) {
    const bool is_stale = now - shortest_at_ > kShortestFor;
    if (sample > Duration::zero() && (sample <= shortest_ || is_stale)) {
        shortest_ = std::max(sample, kRoundTripMin);
        shortest_at_ = now;
    }
    return is_stale;
}

void HopRate::look_for_the_top(const Delivery& delivery) {
    // (What lost much was not too little.)
    const bool is_limited = delivery.is_source_limited && !is_lossy_;
    if (state_ != State::start || !is_new_round_ || is_limited) {
        return;
    }
    if (most_delivered() >= times(top_, kGrowth)) {
        top_ = most_delivered();
        flat_rounds_ = 0;
    } else if (++flat_rounds_ >= kFlatRounds || is_lossy_) {
        state_ = State::drain;
    }
}

void HopRate::move_on(Instant now, const Delivery& delivery, bool is_stale) {
    if (state_ == State::drain && delivery.in_flight <= path_bytes()) {
        state_ = State::cruise;
        phase_ = 2;
        phase_at_ = now;
    }
    if (state_ == State::cruise) {
        cruise(now);
        if (is_stale) {
            state_ = State::measure;
            measured_until_ = now + std::max(kMeasureFor, shortest_);
        }
    } else if (state_ == State::measure && now >= measured_until_) {
        state_ = State::cruise;
        phase_ = 2;
        phase_at_ = now;
    }
}

/// Each phase takes an RTT.
void HopRate::cruise(Instant now) {
    if (now - phase_at_ >= std::max(shortest_, kRoundMin)) {
        phase_ = (phase_ + 1) % kCruiseGains.size();
        phase_at_ = now;
    }
}

std::uint64_t HopRate::most_delivered() const {
    return *std::ranges::max_element(rates_);
}

/// What a few control packets have delivered at the start shows nothing of the path.
std::uint64_t HopRate::known_rate() const {
    const std::uint64_t first = times(kFirstDatagrams * datagram_bytes_,
                                      1 / seconds(std::max(shortest_, kRoundTripMin)));
    const bool is_first = state_ == State::start || most_delivered() == 0;
    return is_first ? std::max(first, most_delivered()) : most_delivered();
}

/// What the path holds without a queue.
std::uint64_t HopRate::path_bytes() const {
    return times(known_rate(), seconds(shortest_));
}

double HopRate::gain() const {
    switch (state_) {
        case State::start:
            return kStartGain;
        case State::drain:
            return 1 / kStartGain;
        case State::measure:
            return 1.0;
        case State::cruise:
            break;
    }
    return kCruiseGains.at(phase_);
}

std::uint64_t HopRate::bytes_per_s() const {
    const std::uint64_t rate = std::max<std::uint64_t>(times(known_rate(), gain()),
                                                       2 * std::uint64_t{datagram_bytes_});
    return rate_max_ > 0 ? std::min(rate, rate_max_) : rate;
}

std::uint64_t HopRate::window() const {
    const double gain = state_ == State::measure ? 0.5
                        : state_ == State::start ? kStartGain
                                                 : kWindowGain;
    const std::uint64_t fewest = kFewestDatagrams * datagram_bytes_;
    const std::uint64_t first = kFirstDatagrams * datagram_bytes_;
    const std::uint64_t gathered = times(most_delivered(), seconds(kGathered));
    return std::max(times(path_bytes(), gain) + gathered,
                    state_ == State::start ? first : fewest);
}

}  // namespace stage::hop

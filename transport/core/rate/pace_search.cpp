#include "transport/core/rate/pace_search.h"

#include "transport/core/feedback/representatives.h"

#include <algorithm>

namespace stage::core {
namespace {

constexpr std::size_t kSendsRemembered = 8192;
/// A receiver must have reported on this number of packets of the train.
constexpr double kTrainPacketsMin = 12;
constexpr double kSamplePacketsMin = 8;
/// A train that arrives in less time may have passed a shaper's token bucket, if that is large
/// enough: begin with at most a bounded rate. Below the second bound the kernel's time stamps
/// are too coarse. Seconds.
constexpr double kTrainTimeMin = 1e-3;
constexpr double kPreciseTime = 60e-6;
constexpr std::uint64_t kGuessMost = 8;
/// Under way at the start, beside what leaves while a report comes: packets; seconds.
constexpr std::uint64_t kFlightPackets = 32;
constexpr double kReportAge = 1e-3;
/// So late a process is taken to be for each doubling and more of its bursts, seconds.
constexpr double kLateness = 100e-6;
/// This number of samples shows whether a remembered rate is right.
constexpr unsigned kProofs = 3;
constexpr std::uint64_t kAtOnce = 1'000'000'000'000;

double most_of(const CoreConfig& config, const RateLimits& limits) {
    return static_cast<double>(config.rate_max_bytes_per_s > 0 ? config.rate_max_bytes_per_s
                                                               : limits.most_bytes_per_s);
}

}  // namespace

PaceSearch::PaceSearch(const CoreConfig& config, const Limits& limits)
    : limits_{limits.rate},
      feedback_{limits.feedback},
      representatives_{representatives_of(config, limits.feedback)},
      packet_bytes_{config.chunk_bytes + kWireOverheadBytes},
      train_packets_{
          std::clamp(limits.rate.train_bytes / packet_bytes_,
                     std::min(limits.rate.train_packets_min, limits.rate.train_packets),
                     limits.rate.train_packets)},
      is_configured_{config.rate_bytes_per_s > 0},
      remembered_{config.rate_remembered_bytes_per_s},
      log_{kSendsRemembered, packet_bytes_},
      board_{config, limits},
      bursts_{limits.rate, limits.pacer.burst_factor_max},
      search_{limits.rate, packet_bytes_, most_of(config, limits.rate)},
      pace_{is_configured_ ? config.rate_bytes_per_s : kAtOnce} {
}

void PaceSearch::on_sends(Instant now, std::span<const Send> sends) {
    for (const Send& send : sends) {
        log_.on_send(now, send, pace_);
        const bool is_data = send.type == wire::PacketType::data;
        if (!send.to.to_group || send.type == wire::PacketType::pulse) {
            beside_bytes_ += is_data ? std::uint64_t{send.count} * packet_bytes_
                                     : send.body.size() + kWireOverheadBytes;
        }
    }
}

void PaceSearch::begin_span(Instant now) {
    board_.begin(now, log_.next());
    span_at_ = now;
    beside_bytes_ = 0;
}

void PaceSearch::poll(Instant now, Pacer& pacer, bool has_data) {
    if (!is_begun_) {
        if (!has_data) {
            return;  // a train that waits for its packets would seem a slow one
        }
        is_begun_ = true;
        begin(now, pacer);
    }
    bound_flight(now);
    if (train_until_) {
        return watch_train(now, pacer);
    }
    if (bursts_.poll(now, board_, pacer)) {
        begin_span(now);
        return;
    }
    if (is_configured_) {
        return;
    }
    if (auto sample = board_.sample(now, kSamplePacketsMin)) {
        sample->lateness = kLateness * (pacer.burst_factor() - 1);
        const std::chrono::duration<double> time = now - span_at_;
        sample->beside =
            static_cast<double>(beside_bytes_) / std::max(time.count(), kReportAge);
        unproved_ -= unproved_ > 0 ? 1U : 0U;
        set_rate(now, pacer, search_.on_sample(now, *sample));
        if (search_.take_new_path()) {
            board_.forget_delays();
        }
    }
}

void PaceSearch::begin(Instant now, Pacer& pacer) {
    begin_span(now);
    if (is_configured_) {
        return;
    }
    first_ = log_.packets();
    reported_ = first_;
    reported_at_ = now;
    if (remembered_ > 0) {
        unproved_ = kProofs;
        begin_search(now, pacer, static_cast<double>(remembered_), RateSearch::From::memory);
        return bound_flight(now);
    }
    train_until_ = now + limits_.train_timeout;
    bound_flight(now);
    pacer.set_rate(now, limits_.least_bytes_per_s);
    pacer.grant(std::uint64_t{train_packets_} * packet_bytes_);
}

/// At the rate as it is sought now.
std::uint64_t PaceSearch::packets_in(double seconds) const {
    return static_cast<std::uint64_t>(search_.rate() * seconds / packet_bytes_);
}

/// A representative reports no more often (reporter.h).
std::uint64_t PaceSearch::packets_in_report() const {
    const std::uint64_t sent = log_.packets() - first_;
    const std::uint64_t packets = std::clamp<std::uint64_t>(
        sent / 8,
        feedback_.report_packets_min,
        feedback_.report_packets_each * (representatives_ + std::uint64_t{1}));
    const std::chrono::duration<double> least = feedback_.report_time * representatives_;
    return packets + (sent < feedback_.start_packets ? 0 : packets_in(least.count()));
}

void PaceSearch::bound_flight(Instant now) {
    if (is_configured_ || !is_seeking()) {
        below_.reset();
        return;
    }
    const std::uint64_t reported = log_.packets_before(board_.reported(now));
    if (reported > reported_) {
        reported_ = reported;
        reported_at_ = now;
    } else if (now > reported_at_ + limits_.train_timeout) {
        reported_ = log_.packets();  // reports are lost: go on, but slowly
        reported_at_ = now;
    }
    // Adds as much again, no more than the reports' age explains, nor less than a remembered
    // rate brings until reports come; and the train itself, and the descriptors before it.
    const double age = kReportAge + board_.round_trip();
    const std::uint64_t most = kFlightPackets + packets_in(age);
    const std::uint64_t least =
        remembered_ > 0
            ? packets_in(std::chrono::duration<double>{limits_.flight_remembered}.count())
            : 0;
    const bool is_start = search_.state() == RateSearch::State::start;
    below_ = reported_ + std::max(std::min(reported_ - first_, most), least) +
             train_packets_ * 3 / 2 + (is_start ? 0 : packets_in_report());
}

/// When most representatives have reported on the train, the search begins at their rate.
void PaceSearch::watch_train(Instant now, Pacer& pacer) {
    const auto sample = board_.sample(now, kTrainPacketsMin);
    if (!sample && now < *train_until_) {
        return;
    }
    train_until_.reset();
    if (!sample) {
        return begin_search(now,
                            pacer,
                            static_cast<double>(limits_.start_bytes_per_s),
                            RateSearch::From::guess);
    }
    // Did the path hold the train back? If not, it takes more than this.
    const double bytes = train_packets_ * packet_bytes_;
    const bool is_full = sample->sent > 1.5 * sample->delivered;
    const bool is_precise = sample->delivered * kPreciseTime < bytes;
    const bool is_long = sample->delivered * kTrainTimeMin < bytes || bytes > kBucketBytes;
    const double most = static_cast<double>(limits_.start_bytes_per_s * kGuessMost);
    search_.expect(sample->delivered);
    begin_search(now,
                 pacer,
                 is_long ? sample->delivered : std::min(sample->delivered, most),
                 is_full && is_precise ? RateSearch::From::train : RateSearch::From::guess);
}

void PaceSearch::begin_search(Instant now, Pacer& pacer, double rate, RateSearch::From from) {
    search_.begin(now, rate, from);
    set_rate(now, pacer, search_.rate());
}

void PaceSearch::set_rate(Instant now, Pacer& pacer, double rate) {
    if (static_cast<std::uint64_t>(rate) == pacer.rate_bytes_per_s() && search_.is_waiting()) {
        return;  // the same span may go on
    }
    pacer.set_rate(now, static_cast<std::uint64_t>(rate));
    const bool is_starting = search_.state() == RateSearch::State::start;
    most_passed_ = is_starting ? 0 : std::max({most_passed_, rate, search_.capacity()});
    pace_ = is_starting ? kAtOnce : static_cast<std::uint64_t>(1.1 * most_passed_);
    begin_span(now);
}

std::optional<Instant> PaceSearch::deadline() const {
    return train_until_ ? train_until_ : bursts_.deadline();
}

}  // namespace stage::core

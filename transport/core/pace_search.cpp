#include "transport/core/pace_search.h"

#include <algorithm>

namespace stage::core {
namespace {

constexpr std::size_t kSendsRemembered = 8192;
/// Of the train a receiver must have reported so many packets.
constexpr double kTrainPacketsMin = 12;
constexpr double kSamplePacketsMin = 8;
constexpr std::uint64_t kAtOnce = 1'000'000'000'000;

double most_of(const CoreConfig& config, const RateLimits& limits) {
    return static_cast<double>(config.rate_max_bytes_per_s > 0 ? config.rate_max_bytes_per_s
                                                               : limits.most_bytes_per_s);
}

}  // namespace

PaceSearch::PaceSearch(const CoreConfig& config, const Limits& limits)
    : limits_{limits.rate},
      packet_bytes_{config.chunk_bytes + kWireOverheadBytes},
      is_told_{config.rate_bytes_per_s > 0},
      remembered_{config.rate_remembered_bytes_per_s},
      log_{kSendsRemembered, packet_bytes_},
      board_{config, limits},
      bursts_{limits.rate, limits.pacer.stretch_max},
      search_{limits.rate, packet_bytes_, most_of(config, limits.rate)},
      pace_{is_told_ ? config.rate_bytes_per_s : kAtOnce} {
}

void PaceSearch::on_sends(Instant now, std::span<const Send> sends) {
    for (const Send& send : sends) {
        log_.on_send(now, send, pace_);
    }
}

void PaceSearch::poll(Instant now, Pacer& pacer) {
    if (!is_begun_) {
        is_begun_ = true;
        begin(now, pacer);
    }
    if (train_until_) {
        return watch_train(now, pacer);
    }
    if (bursts_.poll(now, board_, pacer)) {
        board_.begin(now, log_.next());
        return;
    }
    if (is_told_) {
        return;
    }
    if (const auto sample = board_.sample(now, kSamplePacketsMin)) {
        pace_ = std::max(static_cast<std::uint64_t>(sample->passed), pace_ - pace_ / 64);
        set_rate(now, pacer, search_.on_sample(now, *sample));
    }
}

void PaceSearch::begin(Instant now, Pacer& pacer) {
    board_.begin(now, log_.next());
    if (is_told_) {
        return;
    }
    if (remembered_ > 0) {
        return begin_search(now, pacer, static_cast<double>(remembered_), true);
    }
    train_until_ = now + limits_.train_patience;
    pacer.set_rate(now, limits_.least_bytes_per_s);
    pacer.grant(std::uint64_t{limits_.train_packets} * packet_bytes_);
}

/// Most have told how fast the train arrived: that is where the search begins.
void PaceSearch::watch_train(Instant now, Pacer& pacer) {
    const auto sample = board_.sample(now, kTrainPacketsMin);
    if (!sample && now < *train_until_) {
        return;
    }
    train_until_.reset();
    pace_ = 1;
    begin_search(now,
                 pacer,
                 sample ? sample->delivered : static_cast<double>(limits_.start_bytes_per_s),
                 false);
}

void PaceSearch::begin_search(Instant now, Pacer& pacer, double rate, bool is_remembered) {
    search_.begin(now, rate, is_remembered);
    set_rate(now, pacer, search_.rate());
}

void PaceSearch::set_rate(Instant now, Pacer& pacer, double rate) {
    pacer.set_rate(now, static_cast<std::uint64_t>(rate));
    pace_ = std::max(pace_, static_cast<std::uint64_t>(std::max(rate, search_.capacity())));
    board_.begin(now, log_.next());
}

std::optional<Instant> PaceSearch::deadline() const {
    return train_until_ ? train_until_ : bursts_.deadline();
}

}  // namespace stage::core

// Sets the source's pacer.
//
// A configured rate is kept, and only the burst size is searched (burst_search.h). Without one
// the first packets leave as a train, and the representatives' reports about it begin the rate
// search (rate_search.h). Only one thing changes at a time: while a change takes effect,
// nothing else is changed.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/rate/burst_search.h"
#include "transport/core/rate/rate_board.h"
#include "transport/core/rate/rate_search.h"
#include "transport/core/sending/pacer.h"
#include "transport/core/sending/send_log.h"

#include <optional>

namespace stage::core {

class PaceSearch {
  public:
    PaceSearch(const CoreConfig& config, const Limits& limits);

    void on_report(Instant now, Rank from, const wire::Report& report) {
        board_.on_report(now, from, report, log_);
    }
    void represent(const std::vector<Rank>& ranks) { board_.represent(ranks); }
    void set_away(Rank rank, bool is_away) { board_.set_away(rank, is_away); }
    /// True while the rate search takes large steps, which fill queues.
    [[nodiscard]] bool is_seeking() const {
        return !is_begun_ || train_until_ || unproved_ > 0 || !search_.is_believed();
    }
    /// Packets that left, from begin() on.
    void on_sends(Instant now, std::span<const Send> sends);

    /// Called during the first pass. Begins when there is something to send.
    void poll(Instant now, Pacer& pacer, bool has_data);
    [[nodiscard]] std::optional<Instant> deadline() const;
    /// False if too much is in flight. Until a rate is confirmed, as much again may be in
    /// flight as was reported, so that late reports do not let a wrong rate fill every queue.
    [[nodiscard]] bool may_send() const { return !below_ || log_.packets() < *below_; }
    /// The estimated capacity of the path, bytes per second; 0: not known.
    [[nodiscard]] std::uint64_t capacity() const {
        return static_cast<std::uint64_t>(search_.capacity());
    }
    [[nodiscard]] const RateSearch& search() const { return search_; }

  private:
    void begin(Instant now, Pacer& pacer);
    void begin_search(Instant now, Pacer& pacer, double rate, RateSearch::From from);
    void watch_train(Instant now, Pacer& pacer);
    void set_rate(Instant now, Pacer& pacer, double rate);
    void bound_flight(Instant now);
    void begin_span(Instant now);
    [[nodiscard]] std::uint64_t packets_in(double seconds) const;
    [[nodiscard]] std::uint64_t packets_in_report() const;

    RateLimits limits_;
    FeedbackLimits feedback_;
    std::uint32_t representatives_;
    std::uint32_t packet_bytes_;
    std::uint32_t train_packets_;
    bool is_configured_;
    std::uint64_t remembered_;
    SendLog log_;
    RateBoard board_;
    BurstSearch bursts_;
    RateSearch search_;
    std::uint64_t pace_;                  ///< The pace of packets in a burst, for the log.
    double most_passed_ = 0;              ///< The largest throughput since the start.
    std::optional<Instant> train_until_;  ///< Waiting for the reports on the train.
    Instant span_at_{};                   ///< When the packets of this sample began to leave.
    std::uint64_t beside_bytes_ = 0;      ///< Sent since to single members, beside the stream.
    bool is_begun_ = false;
    unsigned unproved_ = 0;  ///< Samples until a remembered rate is confirmed.
    // Packets to single members have numbers, too, but no receiver reports them. So these count
    // packets of the stream:
    std::uint64_t first_ = 0;  ///< Sent before the train.
    std::uint64_t reported_ = 0;
    Instant reported_at_{};
    std::optional<std::uint64_t> below_;  ///< Only packets below this may leave now.
};

}  // namespace stage::core

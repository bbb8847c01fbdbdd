// Who sets the source's pacer?
//
// A told rate is kept; only the bursts are searched then (burst_search.h). Where none was told
// the first packets leave as a train, and what the representatives report of it begins the
// search of the rate (rate_search.h). One thing at a time: while a change is on its way,
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
    void set_away(Rank rank, bool is_away) { board_.set_away(rank, is_away); }
    /// The rate is still looked for in large steps, which fill queues.
    [[nodiscard]] bool is_seeking() const {
        return !is_begun_ || train_until_ || unproved_ > 0 || !search_.is_believed();
    }
    [[nodiscard]] Duration standing_queue(Instant now) const {
        return board_.standing_queue(now);
    }
    /// What left, from `begin` on.
    void on_sends(Instant now, std::span<const Send> sends);

    /// While the first pass is on. Begins when there is something to send.
    void poll(Instant now, Pacer& pacer, bool has_data);
    [[nodiscard]] std::optional<Instant> deadline() const;
    /// Until a rate is believed no more may be under way than as much again as was reported, so
    /// that reports that come late don't let a wrong rate fill every queue.
    [[nodiscard]] bool may_send() const { return !below_ || log_.packets() < *below_; }
    /// What the path is believed to carry, bytes per second; 0: not known.
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
    bool is_told_;
    std::uint64_t remembered_;
    SendLog log_;
    RateBoard board_;
    BurstSearch bursts_;
    RateSearch search_;
    std::uint64_t pace_;                  ///< Of packets in a burst, for the log.
    double most_passed_ = 0;              ///< Since the start: the most that the path took.
    std::optional<Instant> train_until_;  ///< Waiting for what becomes of the train.
    Instant span_at_{};                   ///< What is sampled began to leave then,
    std::uint64_t beside_bytes_ = 0;      ///< and so much beside the stream since.
    bool is_begun_ = false;
    unsigned unproved_ = 0;  ///< Samples to come before a remembered rate is believed.
    // What goes to single members has numbers, too, but no receiver reports it. So, of the
    // stream's packets:
    std::uint64_t first_ = 0;  ///< How many left before the train,
    std::uint64_t reported_ = 0;
    Instant reported_at_{};
    std::optional<std::uint64_t> below_;  ///< and fewer than these may leave now.
};

}  // namespace stage::core

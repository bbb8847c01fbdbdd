// Sets the rate by the slowest receiver: the congestion window of pgmcc (docs/protocol, 6.3.4).
//
// As in Brim and Sommers' MPI broadcast, and in Rizzo, "pgmcc: a TCP-friendly single-rate
// multicast congestion control scheme" (SIGCOMM 2000): one receiver, the *acker*, is the one
// whose TCP throughput would be the lowest by the equation rate ~ 1 / (RTT x sqrt(loss)). The
// window grows by what the acker acknowledges and is halved when it loses. Here reports
// acknowledge several packets at a time, and the pacer spreads the window over an RTT.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/sending/pacer.h"
#include "transport/core/sending/send_log.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace stage::core {

class AckerWindow {
  public:
    AckerWindow(const CoreConfig& config, const Limits& limits);

    void on_sends(Instant now, std::span<const Send> sends);
    void on_report(Instant now, Rank from, const wire::Report& report);
    void poll(Instant now, Pacer& pacer, bool has_data);
    [[nodiscard]] std::optional<Instant> deadline() const;
    /// True if the packets in flight leave room in the window.
    [[nodiscard]] bool may_send() const;
    /// The window divided by the RTT, bytes per second; 0 before the first report.
    [[nodiscard]] std::uint64_t capacity() const;

    [[nodiscard]] double window() const { return window_; }
    [[nodiscard]] std::optional<Rank> acker() const { return acker_; }

  private:
    struct Receiver {
        double loss = 0;        ///< The share lost of its spans' packets, smoothed.
        double round_trip = 0;  ///< Smoothed, seconds.
        std::uint64_t mark = 0;
        Instant reported_at{};
    };

    [[nodiscard]] double slowness(const Receiver& receiver) const;
    void choose(Instant now, Rank from);
    void acknowledge(std::uint64_t mark, bool has_lost);
    [[nodiscard]] double rate() const;

    RateLimits limits_;
    Duration silence_;
    double packet_bytes_;
    double most_;
    SendLog log_;
    std::map<Rank, Receiver> receivers_;
    std::optional<Rank> acker_;
    double window_;          ///< Packets.
    double threshold_;       ///< Below it the window doubles in an RTT.
    double round_trip_ = 0;  ///< The acker's.
    std::uint64_t acked_ = 0;
    /// Losses of packets before this number have halved the window already.
    std::uint64_t halved_at_ = 0;
    Instant acked_at_{};
    bool is_begun_ = false;
};

}  // namespace stage::core

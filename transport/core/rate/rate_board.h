// Combines the representatives' reports into samples of the path.
//
// A report is one receiver's view of a span of the stream. A view counts only if its span was
// sent after the rate last changed. Many views become one sample: not the slowest receiver's,
// nor the mean, but what more than 60 % of them see at least (docs/protocol, 6.3.3).
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/sending/send_log.h"

#include <optional>
#include <vector>

namespace stage::core {

/// Rates in bytes per second on the wire, times in seconds, shares of 1.
struct RateSample {
    /// Share of the packets, at receivers that lose little: congestion hits most receivers.
    double loss = 0;
    double queue = 0;      ///< Delay above the least that was seen.
    double delivered = 0;  ///< Rate at which packets arrive.
    double passed = 0;     ///< Rate at which packets arrive, the lost packets included.
    double sent = 0;       ///< Rate at which the same packets left.
    double beside = 0;     ///< Rate at which the source sends to single members meanwhile.
    double packets = 0;    ///< Packets that a view rests on.
    double round_trip = 0;
    double fill = 0;        ///< The fill of the sockets' buffers, the median.
    double drain = 0;       ///< Rate at which the processes read packets, the median.
    double lateness = 0;    ///< Seconds that the source is late: late bursts look like queues.
    double overflowed = 0;  ///< Share of receivers whose socket dropped packets.
};

class RateBoard {
  public:
    RateBoard(const CoreConfig& config, const Limits& limits);

    /// Reports of members that are not representatives are ignored.
    void on_report(Instant now, Rank from, const wire::Report& report, const SendLog& log);

    /// Discards the least delays, which belong to another path.
    void forget_delays();
    /// Packets before number `next` no longer count.
    void begin(Instant now, std::uint64_t next);
    /// What was seen since begin(), when enough representatives reported on `packets_min`
    /// packets or more.
    [[nodiscard]] std::optional<RateSample> sample(Instant now, double packets_min) const;

    /// The source drew other representatives, in ascending order.
    void represent(const std::vector<Rank>& ranks);
    /// The member does not hear the group, or hears it again; its view counts only while it
    /// does.
    void set_away(Rank rank, bool is_away);

    /// The newest number that half of the representatives have reported. Silent ones do not
    /// count, because a receiver that holds the object reports no more.
    [[nodiscard]] std::uint64_t reported(Instant now) const;

    /// The least RTT seen, seconds; 0 before the first.
    [[nodiscard]] double round_trip() const;

    /// Loss of the median representative since the last call, packets in a million. Empty until
    /// half of the representatives, silent ones aside, have reported on `packets_min` packets
    /// (at least 1).
    [[nodiscard]] std::optional<std::uint32_t> take_loss_ppm(Instant now,
                                                             std::uint32_t packets_min);

  private:
    struct View {
        Rank rank;
        bool is_away = false;
        std::optional<Instant> heard_at;
        std::uint64_t mark = 0;
        std::optional<Duration> least_delay;
        Instant least_at{};
        std::optional<Duration> round_trip;  ///< The least RTT.
        // Since begin():
        std::uint64_t packets = 0;
        std::uint64_t received = 0;
        std::uint64_t bytes = 0;
        Duration sent_in{};
        Duration arrived_in{};
        Duration queue{};
        double fill = 0;
        double drain = 0;
        bool has_overflowed = false;
        // Since the last take_loss_ppm():
        std::uint64_t loss_packets = 0;
        std::uint64_t loss_received = 0;
    };

    [[nodiscard]] bool is_heard(const View& view, Instant now) const;
    [[nodiscard]] bool is_present(const View& view, Instant now) const;
    static void measure_delay(View& view,
                              const SendLog::Departure& departure,
                              const wire::Report& report);
    static void add(View& view, const SendLog::Span& span, const wire::Report& report);
    [[nodiscard]] static RateSample combine(const std::vector<const View*>& views);

    FeedbackLimits limits_;
    std::uint32_t packet_bytes_;
    std::vector<View> views_;
    std::uint64_t first_ = 0;  ///< The least number that counts.
    Instant begun_at_{};
    std::optional<Instant> first_begun_at_;
};

}  // namespace stage::core

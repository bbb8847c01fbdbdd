// What do the representatives' reports say of the path, together?
//
// Each report is one receiver's view of a span of the stream. A view counts only if its span
// was sent after the rate was last changed. Many views become one sample: not the slowest's and
// not the mean, but what more than 60 % of them see at least (docs/protocol, 6.3.3).
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/sending/send_log.h"

#include <optional>
#include <vector>

namespace stage::core {

/// Rates in bytes per second on the wire, times in seconds, shares of 1.
struct RateSample {
    double loss = 0;       ///< Of the packets, of those who lose little: congestion hits most.
    double queue = 0;      ///< Delay over the least that was seen.
    double delivered = 0;  ///< Rate at which packets arrive,
    double passed = 0;     ///< the same with the lost ones,
    double sent = 0;       ///< and at which the same ones left.
    double beside = 0;     ///< Rate at which the source sends to single members meanwhile.
    double packets = 0;    ///< That a view rests on.
    double round_trip = 0;
    double fill = 0;        ///< Of the sockets' buffers, the middle one.
    double drain = 0;       ///< Rate at which the processes take packets, the middle one.
    double lateness = 0;    ///< Of the source's process, seconds: its bursts look like queues.
    double overflowed = 0;  ///< Share of receivers whose socket dropped something.
};

class RateBoard {
  public:
    RateBoard(const CoreConfig& config, const Limits& limits);

    /// Reports of others than representatives count for nothing here.
    void on_report(Instant now, Rank from, const wire::Report& report, const SendLog& log);

    /// The least delays seen are another path's.
    void forget_delays();
    /// What was sent before packet number `next` says nothing any more.
    void begin(Instant now, std::uint64_t next);
    /// What has been seen since, when enough have reported on `packets_min` packets or more.
    [[nodiscard]] std::optional<RateSample> sample(Instant now, double packets_min) const;

    /// It left the group, or is back: its view counts only if it is there.
    void set_away(Rank rank, bool is_away);
    /// What more than 60 % of those who report have at least, as the rate follows it.
    [[nodiscard]] Duration standing_queue(Instant now) const;

    /// The newest number that half of the representatives have reported, but for silent ones:
    /// who came to hold the object reports no more.
    [[nodiscard]] std::uint64_t reported(Instant now) const;

    /// The least that was seen, seconds; 0 before.
    [[nodiscard]] double round_trip() const;

    /// Lost packets in a million, of the median representative, since the last take; nothing
    /// before half of them, but for silent ones, have reported on `packets_min` packets, 1 or
    /// more.
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
        std::optional<Duration> shortest;    ///< The least delay, whatever the search forgets,
        Duration waited{};                   ///< what the newest mark took longer,
        Duration stands{};                   ///< and the lesser of the last two.
        std::optional<Duration> round_trip;  ///< The least.
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

// Measures how the source's stream arrives at a receiver, for its reports.
//
// It measures one span of packets at a time: from one *mark* (a packet whose arrival time is
// its own) to the newest. It counts the packets of the span that arrived and the time they
// took, what the receiver's sockets dropped, how full they are and how fast the receiver reads
// them. From that and its own log the source computes delay, throughput and loss (see
// rate_board.h).
#pragma once

#include "transport/core/base/contract.h"

#include <cstdint>
#include <optional>

namespace stage::core {

class ArrivalLog {
  public:
    /// Records a multicast packet of the source.
    void on_packet(Instant now, const Datagram& datagram);

    /// Packets since the last take().
    [[nodiscard]] std::uint32_t heard() const { return heard_; }
    /// Since the source was first heard. The packet numbers grow faster, because packets to
    /// single members have numbers, too.
    [[nodiscard]] std::uint64_t heard_ever() const { return heard_ever_; }
    /// Recent packets per second; 0 before enough arrived.
    [[nodiscard]] std::uint32_t packets_per_s() const { return packets_per_s_; }
    /// Recent packets per second, the stream's pauses left out, and so what its path takes;
    /// 0 before enough packets arrived.
    [[nodiscard]] std::uint32_t steady_packets_per_s() const { return steady_packets_per_s_; }

    /// Fills in the report's fields on the stream, and begins the next span.
    void take(Instant now, wire::Report& report);

  private:
    struct Mark {
        std::uint64_t number = 0;
        Instant at{};
    };

    void measure_rate(const Mark& here);
    void notice_pause(const Datagram& datagram);
    void measure_drain(Instant now);

    Mark base_;  ///< The begin of the span.
    Mark mark_;  ///< The end of the span.
    Instant last_at_{};
    std::uint32_t since_base_ = 0;   ///< Packets, the base included.
    std::uint32_t before_mark_ = 0;  ///< Packets before the mark.
    std::uint32_t heard_ = 0;
    std::uint64_t heard_ever_ = 0;
    std::uint32_t overflow_ = 0;
    std::uint32_t overflow_reported_ = 0;
    std::uint8_t fill_ = 0;
    Mark pace_;  ///< Where the current measurement of packets_per_s() began.
    std::uint32_t since_pace_ = 0;
    std::uint32_t packets_per_s_ = 0;
    std::uint32_t steady_packets_per_s_ = 0;
    /// When the last chunk of the first pass arrived.
    std::optional<Instant> first_pass_at_;
    /// Measurements, from the current one on, that show a pause or what follows it.
    std::uint32_t unsteady_ = 0;
    std::uint32_t drained_ = 0;
    std::optional<Instant> drained_since_;
    std::uint32_t drain_ = 0;
};

}  // namespace stage::core

// How did the source's stream arrive here?
//
// A span of packets at a time: from one *mark*, a packet whose time of arrival is its own, to
// the newest one. How many of the span came, and how long it took; what the receiver's sockets
// dropped, how full they are, how fast it takes what they hold. From that and from what it sent
// when the source sees delay, delivery and loss (see rate_board.h).
#pragma once

#include "transport/core/base/contract.h"

#include <cstdint>
#include <optional>

namespace stage::core {

class ArrivalLog {
  public:
    /// A multicast packet of the source.
    void on_packet(Instant now, const Datagram& datagram);

    /// Packets since the last take().
    [[nodiscard]] std::uint32_t heard() const { return heard_; }
    /// Since the source was first heard. (Its numbers are more: many may be single members'.)
    [[nodiscard]] std::uint64_t heard_ever() const { return heard_ever_; }
    /// Packets a second, of late; 0 before enough came.
    [[nodiscard]] std::uint32_t packets_per_s() const { return packets_per_s_; }

    /// Fills in what a report says of the stream. The next span begins.
    void take(Instant now, wire::Report& report);

  private:
    struct Mark {
        std::uint64_t number = 0;
        Instant at{};
    };

    void measure_rate(const Mark& here);
    void measure_drain(Instant now);

    Mark base_;  ///< Where the span begins,
    Mark mark_;  ///< and where it ends.
    Instant last_at_{};
    std::uint32_t since_base_ = 0;   ///< Packets, the base included,
    std::uint32_t before_mark_ = 0;  ///< and those before the mark.
    std::uint32_t heard_ = 0;
    std::uint64_t heard_ever_ = 0;
    std::uint32_t overflow_ = 0;
    std::uint32_t overflow_told_ = 0;
    std::uint8_t fill_ = 0;
    Mark pace_;  ///< Where packets_per_s() counts from, and how many since.
    std::uint32_t since_pace_ = 0;
    std::uint32_t packets_per_s_ = 0;
    std::uint32_t drained_ = 0;
    std::optional<Instant> drained_since_;
    std::uint32_t drain_ = 0;
};

}  // namespace stage::core

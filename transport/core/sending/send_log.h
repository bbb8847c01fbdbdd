// Remembers when the source sent each of its newest packets.
//
// DATA carries no time on the wire. With this log a receiver's arrival time becomes a delay,
// and a span of packet numbers becomes a rate. The packets of a burst count as if they had left
// one after the other at the pace that the path is believed to carry, so that a burst is not
// mistaken for a queue.
#pragma once

#include "transport/core/base/contract.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace stage::core {

class SendLog {
  public:
    /// `sends_max`: the number of sends that are remembered. `full_packet_bytes`: of DATA, on
    /// the wire.
    SendLog(std::size_t sends_max, std::uint32_t full_packet_bytes)
        : sends_max_{sends_max}, full_packet_bytes_{full_packet_bytes} {}

    /// Logs a send; called in the order of packet numbers. `pace`: bytes per second, not 0.
    void on_send(Instant now, const Send& send, std::uint64_t pace);

    /// The packets between two packet numbers, the first included.
    struct Span {
        std::uint32_t packets = 0;  ///< Packets to the group.
        std::uint64_t bytes = 0;    ///< Bytes of the packets on the wire.
        Duration time{};            ///< From the departure of the first to that of the last.
    };
    /// Empty if one of the two was forgotten or never sent. Requires first <= last.
    [[nodiscard]] std::optional<Span> span(std::uint64_t first, std::uint64_t last) const;
    struct Departure {
        Instant sent{};  ///< When its burst left.
        Instant left{};  ///< When the packet left, at the pace of the path.
    };
    [[nodiscard]] std::optional<Departure> departure(std::uint64_t number) const;
    /// The number of the next packet.
    [[nodiscard]] std::uint64_t next() const { return next_; }
    /// Packets of the stream that left.
    [[nodiscard]] std::uint64_t packets() const { return packets_; }
    /// The stream's packets before `number`; 0 if that was forgotten.
    [[nodiscard]] std::uint64_t packets_before(std::uint64_t number) const;

  private:
    struct Entry {
        std::uint64_t first = 0;
        std::uint32_t count = 0;
        std::uint32_t packet_bytes = 0;
        bool to_group = false;
        Instant sent{};
        Instant at{};               ///< When its first packet left.
        Duration each{};            ///< Between two packets.
        std::uint64_t packets = 0;  ///< Packets to the group before it.
        std::uint64_t bytes = 0;    ///< Bytes to the group before it.
    };

    [[nodiscard]] const Entry* find(std::uint64_t number) const;

    std::size_t sends_max_;
    std::uint32_t full_packet_bytes_;
    std::deque<Entry> entries_;
    std::uint64_t next_ = 1;
    std::uint64_t packets_ = 0;
    std::uint64_t bytes_ = 0;
    Instant end_{};  ///< When the packet after the last one could leave.
};

}  // namespace stage::core

// One end of a hop: a connection of two members over UDP that loses nothing.
//
// It does no I/O and reads no clock: datagrams that arrived go in, datagrams that are to leave
// come out, and deadline() says when it is to be called again. A packet with an order arrives
// after those with an order that were pushed before it; every other one as soon as it is whole.
#pragma once

#include "transport/hop/hop_packet.h"
#include "transport/hop/hop_receiver.h"
#include "transport/hop/hop_sender.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace stage::hop {

/// What the ends have agreed on.
struct Standing {
    std::uint64_t to = 0;  ///< The other end's number.
    std::size_t datagram_bytes = kShortDatagram;
    Duration round_trip{};
    bool is_dialler = false;  ///< Confirms until the other end is heard.
};

class HopLink {
  public:
    HopLink(std::uint64_t own, std::uint64_t rate_max) : own_{own}, sender_{rate_max} {}

    [[nodiscard]] std::uint64_t own() const { return own_; }
    void begin(Instant now, const Standing& standing);
    [[nodiscard]] bool stands() const { return standing_.has_value(); }

    void push(Bytes packet, bool has_order);
    /// A PIECE, an ACK or a BYE to this end.
    void on_datagram(Instant now, Kind kind, Bytes datagram);
    void on_time(Instant now) { sender_.on_time(now); }
    /// This end was away for that long, and has seen what arrived meanwhile: the other
    /// end is not to blame.
    void forgive(Instant now, Duration absence) {
        heard_at_ = std::min(heard_at_ + absence, now);
    }

    /// Writes one datagram into `out`, which has room for kLongDatagram. Returns its bytes; 0
    /// if none may leave now.
    [[nodiscard]] std::size_t next(Instant now, MutableBytes out);
    [[nodiscard]] std::optional<Instant> deadline() const;
    /// Appends the packets that have arrived, each behind kOrderBytes.
    void take(std::vector<std::vector<std::byte>>& packets) { receiver_.take(packets); }

    /// True if the other end has gone, or was not heard for too long, or if the path carries
    /// datagrams of this size no more.
    [[nodiscard]] bool is_over(Instant now) const;
    /// True if the other end was not heard for too long.
    [[nodiscard]] bool is_silent(Instant now) const { return stands() && now >= silent_at(); }
    /// Nothing leaves before `until`: the host takes no more.
    void pause(Instant until) { sender_.pause(until); }
    [[nodiscard]] std::size_t backlog_bytes() const { return sender_.backlog_bytes(); }
    /// When the connection began: later ones contain what waits in queues.
    [[nodiscard]] Duration round_trip() const {
        return standing_ ? standing_->round_trip : Duration{};
    }
    /// Each packet behind kOrderBytes. Requires !stands().
    [[nodiscard]] std::vector<std::vector<std::byte>> take_back() {
        return sender_.take_back();
    }
    /// The last datagrams: next() gives what has not arrived once more, and then BYE.
    void end();

  private:
    [[nodiscard]] Instant silent_at() const;

    std::uint64_t own_;
    std::optional<Standing> standing_;
    HopSender sender_;
    HopReceiver receiver_;
    std::uint32_t orders_ = 0;
    Instant heard_at_{};
    bool is_heard_ = false;
    bool is_confirm_due_ = true;
    bool has_gone_ = false;    ///< The other end said so.
    bool is_bye_due_ = false;  ///< This end goes.
};

}  // namespace stage::hop

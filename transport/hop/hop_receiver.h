// Puts the messages of a hop together from their pieces, and says which pieces have arrived.
//
// Pieces come in any order, and a message is given on as soon as it is whole: nothing waits for
// what was sent before it. Only messages with an order (control packets) come in that order,
// and none of the others before the first of them, by which the sender proves who it is. An
// acknowledgement has the last runs of numbers that arrived; there are four in an RTT, or one
// for 64 pieces.
#pragma once

#include "transport/hop/hop_packet.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace stage::hop {

class HopReceiver {
  public:
    /// The connection stands, with datagrams of this size.
    void begin(std::size_t datagram_bytes, Duration round_trip);

    void on_piece(Instant now, const Piece& piece);
    /// Appends the messages that are whole, each behind its order.
    void take(std::vector<std::vector<std::byte>>& messages);

    /// When the next acknowledgement is due.
    [[nodiscard]] std::optional<Instant> ack_at() const { return ack_at_; }
    /// Requires ack_at().
    [[nodiscard]] Ack take_ack(Instant now, std::uint64_t to);
    /// Pieces that had arrived before.
    [[nodiscard]] std::uint64_t repeats() const { return repeats_; }

  private:
    /// A message of which pieces are missing.
    struct Partial {
        std::vector<std::byte> bytes;
        std::uint8_t count = 1;
        std::uint64_t here = 0;  ///< A bit for each piece.
    };

    [[nodiscard]] bool has_room_for(const Piece& piece) const;
    [[nodiscard]] bool note_number(std::uint64_t number);
    [[nodiscard]] bool is_complete(std::uint32_t message) const;
    void complete(std::uint32_t message);
    void add(const Piece& piece);
    void give(std::vector<std::byte> message);

    std::size_t piece_bytes_ = kShortDatagram - kPieceHeadBytes;
    Duration ack_delay_{};
    std::map<std::uint64_t, std::uint64_t> runs_;  ///< Numbers that arrived: first to last.
    std::uint64_t largest_ = 0;
    Instant largest_at_{};
    std::optional<Instant> ack_at_;
    std::uint32_t since_ack_ = 0;
    std::map<std::uint32_t, Partial> partial_;
    std::size_t held_bytes_ = 0;          ///< What partial and waiting messages take.
    std::uint32_t complete_below_ = 0;    ///< All messages below were whole.
    std::set<std::uint32_t> complete_{};  ///< Those beyond that were whole.
    std::uint32_t next_order_ = 1;
    std::map<std::uint32_t, std::vector<std::byte>> early_;  ///< By order.
    std::vector<std::vector<std::byte>> unproved_;  ///< Before the first with an order.
    std::vector<std::vector<std::byte>> whole_;
    std::uint64_t repeats_ = 0;
};

}  // namespace stage::hop

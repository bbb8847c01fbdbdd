// Sends a hop's messages in pieces, and repeats what was lost.
//
// A piece leaves when the rate and the window allow it (hop_rate.h). It is lost if three later
// ones have arrived, or one that left 9/8 RTT after it (RFC 9002, 6.1); then it leaves again,
// with a new number, before what is new. If no acknowledgement comes at all the two oldest are
// sent again after a time-out, which doubles each time (6.2). A message is kept until all of
// its pieces have arrived. The caller bounds what waits: see backlog_bytes().
#pragma once

#include "transport/hop/hop_packet.h"
#include "transport/hop/hop_rate.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace stage::hop {

class HopSender {
  public:
    /// `rate_max`: bytes per second; 0: no limit.
    explicit HopSender(std::uint64_t rate_max) : rate_max_{rate_max} {}

    /// The connection stands, with datagrams of this size.
    void begin(Instant now, std::size_t datagram_bytes, Duration round_trip);
    /// Requires at most kPiecesMax pieces.
    void push(std::vector<std::byte> message);
    void on_ack(Instant now, const Ack& ack);
    /// Something may be due.
    void on_time(Instant now);

    /// Writes one datagram to `to` into `out`, which has room for it. Returns its bytes; 0 if
    /// none may leave now.
    [[nodiscard]] std::size_t next(Instant now, std::uint64_t to, MutableBytes out);
    /// True if there is a piece that may leave now.
    [[nodiscard]] bool may_send(Instant now) {
        return !(lost_.empty() && fresh_.empty()) && may_leave(now);
    }
    /// When next() or on_time() has something to do.
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// Bytes of messages that have not left for the first time.
    [[nodiscard]] std::size_t backlog_bytes() const { return backlog_; }
    /// True if all that was pushed has arrived.
    [[nodiscard]] bool is_done() const { return messages_.empty(); }
    /// Takes all messages back. Requires that nothing has left.
    [[nodiscard]] std::vector<std::vector<std::byte>> take_back();
    /// The connection ends: what has an order and has not arrived is sent once more, whatever
    /// rate and window say, and nothing else.
    void end();

    /// Nothing leaves before `until`.
    void pause(Instant until);
    /// True if for `least`, and three RTTs, no long datagram has arrived though short ones did:
    /// the path has another MTU now.
    [[nodiscard]] bool is_narrowed(Instant now, Duration least) const;

    [[nodiscard]] Duration round_trip() const { return smoothed_; }
    [[nodiscard]] std::uint64_t repeats() const { return repeats_; }

  private:
    struct PieceOf {
        std::uint32_t message = 0;
        std::uint8_t index = 0;
    };
    struct Message {
        std::vector<std::byte> bytes;
        std::uint8_t count = 1;
        std::uint64_t arrived = 0;  ///< A bit for each piece.
    };
    /// A piece that is under way.
    struct Flying {
        PieceOf piece;
        std::uint32_t bytes = 0;  ///< The size of its datagram.
        Instant sent_at{};
        std::uint64_t delivered = 0;  ///< By then, and when that was.
        Instant delivered_at{};
        Instant first_sent_at{};  ///< When the newest piece delivered by then was sent.
        bool is_source_limited = false;
    };
    using AllFlying = std::map<std::uint64_t, Flying>;

    [[nodiscard]] std::size_t piece_bytes() const { return datagram_bytes_ - kPieceHeadBytes; }
    [[nodiscard]] bool may_leave(Instant now);
    [[nodiscard]] std::optional<PieceOf> next_piece();
    void charge(Instant now, std::size_t bytes);
    void arrived(Instant now, const Flying& flying, Delivery& delivery);
    void measure(Instant now, const Flying& newest, std::uint32_t delay_us);
    void lose(Instant now, AllFlying::iterator first, AllFlying::iterator end);
    void find_lost(Instant now);
    [[nodiscard]] Duration loss_delay() const;
    [[nodiscard]] std::optional<Instant> probe_at() const;

    std::uint64_t rate_max_;
    std::optional<HopRate> rate_;  ///< Since begin().
    std::size_t datagram_bytes_ = kShortDatagram;
    std::map<std::uint32_t, Message> messages_;
    std::uint32_t next_message_ = 0;
    std::deque<PieceOf> fresh_;  ///< The next piece of each message that is not sent whole.
    std::deque<PieceOf> lost_;
    std::size_t backlog_ = 0;
    AllFlying flying_;
    std::uint64_t in_flight_ = 0;
    std::uint64_t next_number_ = 0;
    std::optional<std::uint64_t> largest_arrived_;
    std::uint64_t delivered_ = 0;
    Instant delivered_at_{};
    Instant first_sent_at_{};
    std::uint64_t limited_until_ = 1;  ///< Bytes delivered; a connection begins with little.
    Instant paced_at_{};
    bool is_bursting_ = false;
    Duration smoothed_{};
    Duration variation_{};
    std::optional<Instant> loss_at_;  ///< When the oldest piece is late.
    Instant last_sent_at_{};
    std::uint32_t timeouts_ = 0;  ///< In a row.
    std::uint32_t free_ = 0;      ///< Pieces that may leave whatever the window says.
    std::uint64_t repeats_ = 0;
    std::uint64_t lost_bytes_ = 0;
    std::uint32_t long_lost_ = 0;  ///< Long datagrams, since one arrived.
    Instant long_lost_at_{};       ///< The first of them.
};

}  // namespace stage::hop

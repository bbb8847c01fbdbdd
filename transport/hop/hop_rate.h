// Finds how fast a hop may send: from what its path delivers, not from what it loses.
//
// The model is BBR's (draft-cardwell-iccrg-bbr-congestion-control-00): the largest rate that
// was delivered within the last ten RTTs, and the shortest RTT within ten seconds. Their
// product is what the path holds without a queue; twice that may be under way. Loss is no sign
// of congestion, because on a long path it is mostly chance; a queue is one, because it makes
// no delivery faster. It starts by sending 2.89 times what was delivered, until three RTTs in a
// row have delivered no more, or one that has lost much, drains the queue that this made, and
// then cruises: in one of eight RTTs it tries a quarter more, and in the next one that much
// less. Without a new shortest RTT for ten seconds it leaves the path half empty for one, to
// measure it again.
#pragma once

#include "transport/base/units.h"

#include <array>
#include <cstdint>

namespace stage::hop {

/// What an acknowledgement says about the path.
struct Delivery {
    std::uint64_t delivered = 0;         ///< Bytes so far.
    std::uint64_t delivered_before = 0;  ///< When the newest of these pieces left.
    std::uint64_t lost = 0;              ///< Bytes so far.
    Duration interval{};                 ///< Between the two; 0: too short to say anything.
    Duration round_trip{};               ///< 0: not measured.
    std::uint64_t in_flight = 0;         ///< Bytes that are still under way.
    bool is_source_limited = false;      ///< There was less to send than might have been.
};

class HopRate {
  public:
    /// `rate_max`: bytes per second; 0: no limit.
    HopRate(std::uint32_t datagram_bytes, std::uint64_t rate_max);

    /// The connection stands. Before that nothing is sent.
    void begin(Instant now, Duration round_trip);
    void on_delivery(Instant now, const Delivery& delivery);

    /// At which rate pieces leave, bytes per second, not 0.
    [[nodiscard]] std::uint64_t bytes_per_s() const;
    /// How many bytes may be under way.
    [[nodiscard]] std::uint64_t window() const;
    /// The shortest RTT.
    [[nodiscard]] Duration round_trip() const { return shortest_; }
    [[nodiscard]] bool is_starting() const { return state_ == State::start; }

  private:
    enum class State : std::uint8_t { start, drain, cruise, measure };
    static constexpr std::size_t kRounds = 10;

    void count_round(Instant now, const Delivery& delivery);
    void learn_rate(const Delivery& delivery);
    [[nodiscard]] bool learn_round_trip(Instant now, Duration sample);
    void look_for_the_top(const Delivery& delivery);
    void move_on(Instant now, const Delivery& delivery, bool is_stale);
    void cruise(Instant now);
    [[nodiscard]] std::uint64_t path_bytes() const;
    [[nodiscard]] std::uint64_t most_delivered() const;
    [[nodiscard]] std::uint64_t known_rate() const;
    [[nodiscard]] double gain() const;

    std::uint32_t datagram_bytes_;
    std::uint64_t rate_max_;
    State state_ = State::start;
    /// The largest rates of the last rounds that showed any, in turn; `rate_round_` is the
    /// newest one's.
    std::array<std::uint64_t, kRounds> rates_{};
    std::size_t rate_at_ = 0;
    std::uint64_t rate_round_ = 0;
    std::uint64_t round_ = 0;
    std::uint64_t round_ends_at_ = 0;  ///< Bytes delivered.
    Instant round_at_{};
    bool is_new_round_ = false;
    Duration shortest_{};
    Instant shortest_at_{};
    std::uint64_t top_ = 0;  ///< The best rate when it last grew by a quarter.
    int flat_rounds_ = 0;    ///< Rounds since.
    /// Lost and delivered when the round began.
    std::uint64_t lost_before_ = 0;
    std::uint64_t delivered_before_ = 0;
    bool is_lossy_ = false;  ///< The round that has ended lost much.
    std::size_t phase_ = 0;  ///< The place in the cycle of cruising.
    Instant phase_at_{};
    Instant measured_until_{};
};

}  // namespace stage::hop

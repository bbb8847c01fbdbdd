// A TCP flow on the simulated links.
//
// It always has something to send: CUBIC (RFC 9438) with selective acknowledgement and
// HyStart's delay check, as in Linux, packet by packet through the same links as the broadcast.
// Acknowledgements wait nowhere. It records what it and the broadcast got of its narrowest
// link.
#pragma once

#include "tests/sim/network/events.h"
#include "tests/sim/network/network.h"

#include <deque>
#include <vector>

namespace stage::sim {

class CubicFlow {
  public:
    CubicFlow(const Plan& plan, const FlowPlan& own, Network& network, Events& events);

    void start();

    /// Shares of the link that the flow and all other traffic had between two times.
    struct Shares {
        double own = 0;
        double others = 0;
    };
    [[nodiscard]] Shares shares(Duration from, Duration below) const;

  private:
    struct Segment {
        std::uint64_t number = 0;
        Instant sent{};
    };
    /// What the link had carried when a bin began.
    struct Bin {
        std::uint64_t own = 0;
        std::uint64_t all = 0;
    };

    [[nodiscard]] const Link& watched() const;
    void begin(std::uint64_t);
    void tick(std::uint64_t);
    void send();
    void arrive_at_switch(std::uint64_t number);
    void acknowledge(std::uint64_t number);
    void watch(std::uint64_t);
    void on_round_trip(Duration trip);
    void on_loss(std::uint64_t number);
    void grow();
    [[nodiscard]] double seconds_since(Instant then) const;

    const Plan& plan_;
    const FlowPlan& own_;
    Network& network_;
    Events& events_;
    Train train_;
    std::deque<Segment> under_way_;
    std::uint64_t next_ = 1;
    std::uint64_t carried_ = 0;

    double window_ = 10;
    double threshold_ = 1e9;
    double most_ = 0;
    double began_with_ = 0;  ///< Window at the epoch's begin.
    double reno_ = 0;
    std::uint64_t recover_below_ = 0;  ///< Losses before it belong to the last reduction.
    Instant epoch_{};
    bool has_epoch_ = false;
    Duration trip_least_{};
    Duration trip_{};
    std::uint64_t round_below_ = 0;  ///< HyStart: the round ends here,
    Duration round_least_{};         ///< and this was its least round trip.
    unsigned round_samples_ = 0;
    Instant heard_at_{};
    std::vector<Bin> bins_;
};

}  // namespace stage::sim

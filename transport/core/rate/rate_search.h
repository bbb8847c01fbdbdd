// Searches for the source's rate where none is configured (docs/protocol, 6.3.3).
//
// A short train measures how fast the path takes packets. From there the rate grows until a
// queue appears (start_state.h), falls until it is gone (drain_state.h), and then keeps a small
// one (cruise_state.h). Where another flow keeps the queue full, the stream competes as TCP
// does (compete_state.h). Where the receivers' processes are the bottleneck, the rate follows
// them (slow_hosts.h). The states share what is known about the path (path_estimate.h).
#pragma once

#include "transport/core/base/limits.h"
#include "transport/core/rate/compete_state.h"
#include "transport/core/rate/cruise_state.h"
#include "transport/core/rate/drain_state.h"
#include "transport/core/rate/path_estimate.h"
#include "transport/core/rate/rate_board.h"
#include "transport/core/rate/rate_step.h"
#include "transport/core/rate/slow_hosts.h"
#include "transport/core/rate/start_state.h"

#include <cstdint>

namespace stage::core {

class RateSearch {
  public:
    using State = RateState;

    /// `packet_bytes`: of a full packet on the wire. `most`: the upper bound, bytes per second.
    RateSearch(const RateLimits& limits, std::uint32_t packet_bytes, double most)
        : rate_min_{static_cast<double>(limits.least_bytes_per_s)}, rate_max_{most} {
        path_.packet_bytes = static_cast<double>(packet_bytes);
    }

    /// The origin of the first rate.
    enum class From {
        guess,   ///< The path takes this, and perhaps much more.
        train,   ///< The path takes about this.
        memory,  ///< An earlier broadcast found it.
    };
    void begin(Instant now, double rate, From from);
    /// A train too short to be believed arrived at this rate: larger steps up to it.
    void expect(double rate) { start_.expect(rate); }
    /// The sample of the reports since the last change of the rate. Returns the next rate.
    [[nodiscard]] double on_sample(Instant now, const RateSample& sample);

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] double rate() const { return path_.rate; }
    /// True if the rate is confirmed: a queue has come and gone at it, or another flow causes
    /// the queue. Before, it may be wrong by far.
    [[nodiscard]] bool is_believed() const {
        return state_ != State::start && (state_ != State::drain || path_.is_confirmed);
    }
    /// The last sample was too short to decide: a longer one of the same packets is needed.
    [[nodiscard]] bool is_waiting() const { return is_waiting_; }
    /// True, once, if the path became longer, so that the delays must be measured anew.
    [[nodiscard]] bool take_new_path() { return drain_.take_new_path(); }
    /// The estimated capacity of the path, bytes per second; 0 before it was measured.
    [[nodiscard]] double capacity() const { return path_.capacity; }

  private:
    [[nodiscard]] RateStep next(Instant now, const RateSample& sample);
    void enter(State state, Instant now, const RateSample& sample);

    double rate_min_;  ///< Bytes per second.
    double rate_max_;
    PathEstimate path_;
    State state_ = State::start;
    StartState start_;
    DrainState drain_;
    CruiseState cruise_;
    CompeteState compete_;
    SlowHosts hosts_;
    bool is_waiting_ = false;
};

}  // namespace stage::core

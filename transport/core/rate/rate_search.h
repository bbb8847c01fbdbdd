// Searches for the source's rate where none is configured (docs/protocol, 6.3.3).
//
// A short train measures how fast the path takes packets. From there the rate grows until a
// queue appears, falls until it is gone, and then keeps a small one, so that the link is never
// idle and nothing is lost. Loss without a queue is tested (loss_probe.h). Where another flow
// keeps the queue full, the stream competes as TCP does (cubic_window.h). Where the receivers'
// processes are the bottleneck, the rate follows them.
#pragma once

#include "transport/core/base/limits.h"
#include "transport/core/rate/loss_probe.h"
#include "transport/core/rate/rate_board.h"
#include "transport/core/sending/cubic_window.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace stage::core {

/// More than the token bucket of a traffic shaper lets through at once, bytes.
inline constexpr double kBucketBytes = 145'000;

class RateSearch {
  public:
    enum class State { start, drain, cruise, compete };

    /// `packet_bytes`: of a full packet on the wire. `most`: the upper bound, bytes per second.
    RateSearch(const RateLimits& limits, std::uint32_t packet_bytes, double most)
        : limits_{limits}, packet_bytes_{static_cast<double>(packet_bytes)}, most_{most} {}

    /// The origin of the first rate.
    enum class From {
        guess,   ///< The path takes this, and perhaps much more.
        train,   ///< The path takes about this.
        memory,  ///< An earlier broadcast found it.
    };
    void begin(Instant now, double rate, From from);
    /// A train too short to be believed arrived at this rate: larger steps up to it.
    void expect(double rate) { expected_ = rate; }
    /// The sample of the reports since the last change of the rate. Returns the next rate.
    [[nodiscard]] double on_sample(Instant now, const RateSample& sample);

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] double rate() const { return rate_; }
    /// True if the rate is confirmed: a queue has come and gone at it, or another flow causes
    /// the queue. Before, it may be wrong by far.
    [[nodiscard]] bool is_believed() const {
        return state_ != State::start && (state_ != State::drain || is_settled_);
    }
    /// The last sample was too short to decide: a longer one of the same packets is needed.
    [[nodiscard]] bool is_waiting() const { return is_waiting_; }
    /// True, once, if the path became longer, so that the delays must be measured anew.
    [[nodiscard]] bool take_new_path() { return std::exchange(has_new_path_, false); }
    /// The estimated capacity of the path, bytes per second; 0 before it was measured.
    [[nodiscard]] double capacity() const { return capacity_; }

  private:
    [[nodiscard]] double next(Instant now, const RateSample& sample);
    [[nodiscard]] double start(Instant now, const RateSample& sample);
    [[nodiscard]] double drain(Instant now, const RateSample& sample);
    [[nodiscard]] double cruise(Instant now, const RateSample& sample);
    [[nodiscard]] double compete(Instant now, const RateSample& sample);
    [[nodiscard]] double host(Instant now, const RateSample& sample);
    [[nodiscard]] static Instant drain_time(Instant now, const RateSample& sample);
    [[nodiscard]] double begin_drain(Instant now, const RateSample& sample);
    [[nodiscard]] double drained(const RateSample& sample);
    [[nodiscard]] double outrun(Instant now, const RateSample& sample);
    [[nodiscard]] double begin_cruise();
    [[nodiscard]] double begin_compete(Instant now, const RateSample& sample);
    [[nodiscard]] double quiet(const RateSample& sample);
    /// The shortest queue that counts, seconds.
    [[nodiscard]] double queue_unit(const RateSample& sample) const;
    [[nodiscard]] double agreed(const RateSample& sample, double unit);
    [[nodiscard]] double lowered(double capacity) const;
    [[nodiscard]] double without_chance(double delivered) const;

    RateLimits limits_;
    double packet_bytes_;
    double most_;
    State state_ = State::start;
    double rate_ = 0;
    double capacity_ = 0;
    /// The first rate,
    double train_ = 0;
    /// which was only a guess.
    bool is_guess_ = true;
    double expected_ = 0;
    bool is_waiting_ = false;
    LossProbe loss_;
    double before_test_ = 0;  ///< The rate to return to.
    unsigned quiet_epochs_ = 0;
    unsigned limited_ = 0;    ///< Samples in a row in which the source could not keep the rate.
    double drain_queue_ = 0;  ///< The queue when draining began.
    unsigned drain_samples_ = 0;
    unsigned flooded_ = 0;       ///< Samples in which most packets were lost.
    unsigned outrun_ = 0;        ///< Samples in which this stream kept filling the queue.
    unsigned queued_ = 0;        ///< Samples in a row with a queue, in cruise.
    unsigned stuck_ = 0;         ///< Samples in a row with a short queue that does not go.
    double before_cut_ = 0;      ///< The capacity estimate before it was lowered.
    double passed_before_ = 0;   ///< Throughput in the last sample of a busy path.
    bool was_alone_ = false;     ///< No other flow had a share when this drain began.
    bool has_new_path_ = false;  ///< The delays seen so far belong to another path.
    bool is_settled_ = false;    ///< The capacity was measured: a queue has drained.
    Instant drain_until_{};      ///< By when the queue should be gone.
    CubicWindow window_;
    std::optional<Instant> queue_seen_;  ///< The last time, in compete.
    /// Samples in a row in which no other flow had a share.
    unsigned alone_ = 0;
    /// The receivers' processes are the bottleneck until then.
    std::optional<Instant> host_until_;
};

}  // namespace stage::core

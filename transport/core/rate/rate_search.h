// How fast, where no rate was told?
//
// A short train shows how fast the path takes packets; from there the rate grows until a queue
// appears, falls until it is gone, and then keeps a small one: so the link is never idle and
// nothing is lost. Loss without a queue is tested (loss_probe.h); where somebody else keeps the
// queue full, the stream competes as TCP does (cubic_window.h); where the receivers' processes
// are the bottleneck, it goes as fast as they take it. docs/protocol, 6.3.3.
#pragma once

#include "transport/core/base/limits.h"
#include "transport/core/rate/loss_probe.h"
#include "transport/core/rate/rate_board.h"
#include "transport/core/sending/cubic_window.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace stage::core {

/// More than a shaper lets through at once, bytes.
inline constexpr double kBucketBytes = 145'000;

class RateSearch {
  public:
    enum class State { start, drain, cruise, compete };

    /// `packet_bytes`: of a full packet on the wire. `most`: bytes per second, not exceeded.
    RateSearch(const RateLimits& limits, std::uint32_t packet_bytes, double most)
        : limits_{limits}, packet_bytes_{static_cast<double>(packet_bytes)}, most_{most} {}

    /// Where the first rate comes from.
    enum class From {
        guess,   ///< The path takes this, and perhaps much more.
        train,   ///< It takes about this.
        memory,  ///< An earlier broadcast found it.
    };
    void begin(Instant now, double rate, From from);
    /// A train too short to be believed came so fast: larger steps, until that.
    void expect(double rate) { expected_ = rate; }
    /// What the reports since the last change of the rate say. Gives the next rate.
    [[nodiscard]] double on_sample(Instant now, const RateSample& sample);

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] double rate() const { return rate_; }
    /// A queue has come and gone at it, or it is another's. Before, it may be wrong by far.
    [[nodiscard]] bool is_believed() const {
        return state_ != State::start && (state_ != State::drain || is_settled_);
    }
    /// The last sample was too short to go on by: a longer one of the same packets is wanted.
    [[nodiscard]] bool is_waiting() const { return is_waiting_; }
    /// The path became longer: delays are to be measured anew. Says so once.
    [[nodiscard]] bool take_new_path() { return std::exchange(has_new_path_, false); }
    /// What the path is believed to carry, bytes per second; 0 before it was seen.
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
    /// A queue longer than this is one, seconds.
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
    double train_ = 0;      ///< The first rate,
    bool is_guess_ = true;  ///< which was only a guess.
    double expected_ = 0;
    bool is_waiting_ = false;
    LossProbe loss_;
    double before_test_ = 0;  ///< Rate to take back.
    unsigned quiet_epochs_ = 0;
    unsigned limited_ = 0;    ///< Samples in a row in which the source could not keep the rate.
    double drain_queue_ = 0;  ///< When draining began: the queue,
    unsigned drain_samples_ = 0;
    unsigned flooded_ = 0;       ///< Samples in which most was lost,
    unsigned outrun_ = 0;        ///< in which we filled it on,
    unsigned queued_ = 0;        ///< and in a row with a queue, while cruising;
    unsigned stuck_ = 0;         ///< with a short one that does not go.
    double before_cut_ = 0;      ///< The capacity believed before it was lowered.
    double passed_before_ = 0;   ///< Of the last sample of a busy path.
    bool was_alone_ = false;     ///< Nobody else had a share when this drain began.
    bool has_new_path_ = false;  ///< The delays seen so far are another path's.
    bool is_settled_ = false;    ///< The capacity was seen: a queue has drained.
    Instant drain_until_{};      ///< and by when it should be gone.
    CubicWindow window_;
    std::optional<Instant> queue_seen_;  ///< Last time, while competing.
    unsigned alone_ = 0;                 ///< Samples in a row in which nobody else had a share.
    std::optional<Instant> host_until_;  ///< The receivers' processes are behind.
};

}  // namespace stage::core

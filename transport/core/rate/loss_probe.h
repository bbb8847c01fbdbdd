// Tests whether the rate causes the observed loss, or whether it is random.
//
// If more is lost than is known to be random, and no queue shows, the source sends a little
// slower for a moment. Loss that stays is random: it is remembered and lowers the rate no more.
// If it goes, the rate was too high for a buffer that is too small to show a queue. The rate
// was far too high if much loss stays and as much arrives as before.
#pragma once

#include "transport/base/units.h"
#include "transport/core/rate/rate_board.h"

#include <optional>

namespace stage::core {

class LossProbe {
  public:
    enum class Answer { none, slower, random, congestion, overload };

    /// Evaluates one sample. `has_queue`: the delay explains the loss. `slower`: a test begins;
    /// send at kSlower of the rate until another answer comes.
    [[nodiscard]] Answer on_sample(Instant now, const RateSample& sample, bool has_queue);
    /// The path loses this share at a rate that it certainly carries.
    void learn(double loss) { random_loss_ = loss; }

    [[nodiscard]] bool is_testing() const { return before_.has_value(); }
    /// The loss that is known to be random.
    [[nodiscard]] double random_loss() const { return random_loss_; }

    /// Share of the rate during a test: enough for a small buffer to drain.
    static constexpr double kSlower = 0.85;

  private:
    [[nodiscard]] Answer judge(Instant now, const RateSample& sample);
    void forget();

    double random_loss_ = 0;
    double packets_ = 0;            ///< Sent in the samples of the next decision.
    double lost_ = 0;               ///< Lost of these.
    std::optional<double> before_;  ///< Loss before the test.
    double delivered_before_ = 0;   ///< Throughput before the test, bytes per second.
    Instant next_test_at_{};
    unsigned backoff_ = 8;  ///< 40 ms at first; doubles with each test that finds congestion.
};

}  // namespace stage::core

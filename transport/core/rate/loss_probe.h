// Does the rate cause this loss, or chance?
//
// More loss than is known to be chance, where no queue shows, is tested: a little slower for a
// moment. If it stays, it is chance, is remembered, and costs no rate any more. If it goes, the
// rate was too high for a buffer too small to show a queue; and by far too high if much stays,
// and as much arrives as before.
#pragma once

#include "transport/base/units.h"
#include "transport/core/rate/rate_board.h"

#include <optional>

namespace stage::core {

class LossProbe {
  public:
    enum class Answer { none, slower, chance, congestion, overload };

    /// One sample's loss; `has_queue`: the delay explains it.
    /// slower: a test begins, go at kSlower of the rate until another answer comes.
    [[nodiscard]] Answer on_sample(Instant now, const RateSample& sample, bool has_queue);
    /// The path was seen to lose so much at a rate that it certainly takes.
    void learn(double loss) { chance_ = loss; }

    [[nodiscard]] bool is_testing() const { return before_.has_value(); }
    /// Loss that is known to be chance.
    [[nodiscard]] double chance() const { return chance_; }

    static constexpr double kSlower = 0.85;

  private:
    [[nodiscard]] Answer judge(Instant now, const RateSample& sample);
    void forget();

    double chance_ = 0;
    double packets_ = 0;  ///< Of the samples that loss_ rests on.
    double lost_ = 0;
    std::optional<double> before_;  ///< Loss before the test,
    double delivered_before_ = 0;   ///< and what arrived, bytes per second.
    Instant quiet_until_{};
    unsigned backoff_ = 8;  ///< Times a sample's time.
};

}  // namespace stage::core

#include "transport/tcp/send_pace.h"

#include <algorithm>
#include <utility>

namespace stage::tcp {
namespace {

using std::chrono::milliseconds;

/// A shorter queue delays a repair by less than a process does that is scheduled late. Where
/// the path itself takes longer, half of its RTT.
constexpr Duration kQueueMin = milliseconds{5};
/// A queue of one's own is gone after this time, or much shorter. (One of more than some 0.3 s
/// is taken for others'.)
constexpr Duration kDrainTime = 8 * SendPace::kInterval;
/// Samples without a queue, after which the rate grows twice as fast.
constexpr std::uint32_t kGrowSamples = 4;
constexpr std::uint32_t kDoublingsMax = 3;

std::uint64_t per_second(std::uint64_t bytes, Duration elapsed) {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) /
                                      std::chrono::duration<double>{elapsed}.count());
}

std::uint64_t share(std::uint64_t rate, Duration part, Duration whole) {
    return static_cast<std::uint64_t>(static_cast<double>(rate) *
                                      static_cast<double>(part.count()) /
                                      static_cast<double>(whole.count()));
}

}  // namespace

void SendPace::on_sample(const PathSample& sample) {
    const std::optional<PathSample> last = std::exchange(last_, sample);
    const std::optional<PathSample> first = std::exchange(before_last_, last);
    if (!first || sample.at > first->at + 8 * kInterval ||
        sample.delivered_bytes < first->delivered_bytes) {
        drain_.reset();
        return;
    }
    if (sample.at < free_until_) {
        return;
    }
    delivered_[next_++ % delivered_.size()] =
        per_second(sample.delivered_bytes - first->delivered_bytes, sample.at - first->at);
    const Duration queue = sample.round_trip - sample.least_round_trip;
    if (queue <= std::max(kQueueMin, sample.least_round_trip / 2)) {
        on_no_queue();
    } else if (last->unsent_bytes > 0 && sample.unsent_bytes > 0) {
        on_queue(sample, queue);
    }
}

/// An interval in which TCP waits for a repair delivers less than the path can.
std::uint64_t SendPace::path_rate() const {
    return *std::ranges::max_element(delivered_);
}

void SendPace::on_queue(const PathSample& sample, Duration queue) {
    const bool is_over = drain_ && sample.at >= drain_->since + kDrainTime;
    if (is_over && queue > drain_->queue * 3 / 4) {
        drain_.reset();
        rate_ = 0;
        free_until_ = sample.at + free_for_;
        free_for_ = std::min(2 * free_for_, kFreeForMax);
        return;
    }
    if (!drain_ || is_over) {
        drain_ = {.since = sample.at, .queue = queue, .path_rate = path_rate()};
    }
    // While a queue is this connection's the path delivers what it can, however little is sent.
    // This empties it in two intervals, a longer one by half an interval in each.
    const Duration spared = std::min(queue / 2, kInterval / 2);
    rate_ = share(drain_->path_rate, kInterval - spared, kInterval);
}

void SendPace::on_no_queue() {
    if (drain_) {
        drain_.reset();
        grown_ = 0;
        free_for_ = kFreeFor;
        rate_ = path_rate();
        return;
    }
    const std::uint32_t doublings = std::min(grown_++ / kGrowSamples, kDoublingsMax);
    rate_ += (rate_ / 64) << doublings;
    if (rate_ > 4 * path_rate()) {
        rate_ = 0;  // There is less to send, and nothing was learned for long.
    }
}

}  // namespace stage::tcp

// The time that a simulated host's disk takes.
#include "tests/sim/world/host.h"

#include <algorithm>

namespace stage::sim {

/// One disk: operations wait for each other.
void Host::submit(const core::Operation& operation) {
    if (own_.is_disk_stuck && operation.kind == core::OperationKind::store) {
        return;
    }
    const std::uint64_t rate =
        own_.disk_bytes_per_s > 0 ? own_.disk_bytes_per_s : plan_.disk_bytes_per_s;
    const std::uint64_t verify_share = operation.kind == core::OperationKind::verify ? 10 : 1;
    const bool is_finish = operation.kind == core::OperationKind::finish;
    const bool is_late =
        plan_.disk_late_max > Duration::zero() && own_chance_.chance_ppm(62'500);
    const Duration late = is_late
                              ? Duration{static_cast<Duration::rep>(own_chance_.below(
                                    static_cast<std::uint64_t>(plan_.disk_late_max.count())))}
                              : Duration{};
    const Duration time = late + (is_finish ? own_.finish_takes : Duration{}) +
                          plan_.disk_latency / static_cast<std::int64_t>(verify_share) +
                          Duration{static_cast<Duration::rep>(
                              content_.cost(operation) * 1'000'000'000 / rate / verify_share)};
    disk_busy_until_ = std::max(disk_busy_until_, events_.now()) + time;
    disk_jobs_.push_back(operation);
    events_.at<&Host::complete>(disk_busy_until_, *this);
}

/// The disk has done what it was asked for first.
void Host::complete(std::uint64_t) {
    const core::Operation operation = disk_jobs_.front();
    disk_jobs_.pop_front();
    if (is_dead_ || over_at_) {
        return;
    }
    for (core::Completion& done : content_.perform(operation)) {
        completions_.push_back(std::move(done));
    }
    wake_at(events_.now() + own_.wake_latency);
}

}  // namespace stage::sim

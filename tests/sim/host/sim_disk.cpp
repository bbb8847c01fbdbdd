#include "tests/sim/host/sim_disk.h"

#include <algorithm>
#include <utility>

namespace stage::sim {
namespace {

constexpr std::uint32_t kAtOnceBytesMax = 64U << 10U;  ///< As of verify_at_once().

}  // namespace

SimDisk::SimDisk(const Plan& plan,
                 std::uint16_t rank,
                 Content& content,
                 Events& events,
                 Prng& prng,
                 std::function<void()> wake)
    : plan_{plan},
      own_{plan.member[rank]},
      content_{content},
      events_{events},
      prng_{prng},
      wake_{std::move(wake)},
      work_{content, std::max(plan.resident_blocks / 2U, 1U), [this](core::Completion done) {
                done_.push_back(std::move(done));
            }} {
}

std::optional<core::Completion> SimDisk::submit(const core::Operation& operation,
                                                MutableBytes buffer) {
    if (operation.kind == core::OperationKind::verify &&
        plan_.block_bytes[operation.block.index()] <= kAtOnceBytesMax) {
        return content_.perform(operation, buffer).completion;
    }
    if (own_.is_disk_stuck && operation.kind == core::OperationKind::store) {
        return std::nullopt;
    }
    busy_until_ = std::max(busy_until_, events_.now()) + time_of(operation);
    if (own_.disk_stands_at && busy_until_ >= Instant{*own_.disk_stands_at}) {
        busy_until_ =
            std::max(busy_until_, Instant{*own_.disk_stands_at + own_.disk_stands_for});
    }
    jobs_.push_back({.operation = operation, .buffer = buffer});
    events_.at<&SimDisk::complete>(busy_until_, *this);
    return std::nullopt;
}

Duration SimDisk::time_of(const core::Operation& operation) {
    const std::uint64_t rate =
        own_.disk_bytes_per_s > 0 ? own_.disk_bytes_per_s : plan_.disk_bytes_per_s;
    const std::uint64_t share = operation.kind == core::OperationKind::verify ? 10 : 1;
    const bool is_finish = operation.kind == core::OperationKind::finish;
    const std::uint64_t bytes = is_finish ? 0 : plan_.block_bytes[operation.block.index()];
    const bool is_late = plan_.disk_late_max > Duration::zero() && prng_.chance_ppm(62'500);
    const Duration late =
        is_late ? Duration{static_cast<Duration::rep>(
                      prng_.below(static_cast<std::uint64_t>(plan_.disk_late_max.count())))}
                : Duration{};
    return late + (is_finish ? own_.finish_takes : Duration{}) +
           plan_.disk_latency / static_cast<std::int64_t>(share) +
           Duration{static_cast<Duration::rep>(bytes * 1'000'000'000 / rate / share)};
}

/// The disk has done what it was asked for first.
void SimDisk::complete(std::uint64_t) {
    const DiskJob job = std::move(jobs_.front());
    jobs_.pop_front();
    if (is_stopped_) {
        return;
    }
    if (is_full() && job.operation.kind == core::OperationKind::store) {
        done_.push_back({.ticket = job.operation.ticket,
                         .kind = job.operation.kind,
                         .block = job.operation.block,
                         .verdict = core::Verdict::failed,
                         .descriptor = {},
                         .why = Error{Blame::user, "No space left on device"}});
    } else {
        work_.perform(job);
    }
    if (has_done()) {
        wake_();
    }
}

bool SimDisk::is_full() const {
    const Duration now = events_.now().time_since_epoch();
    return own_.disk_full_at && now >= *own_.disk_full_at &&
           now < *own_.disk_full_at + own_.disk_full_for;
}

std::vector<core::Completion> SimDisk::take() {
    return std::exchange(done_, {});
}

}  // namespace stage::sim

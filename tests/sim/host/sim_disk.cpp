#include "tests/sim/host/sim_disk.h"

#include "transport/base/checksum.h"
#include "transport/base/invariant.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage::sim {
namespace {

constexpr std::uint32_t kAtOnceBytesMax = 64U << 10U;  ///< The limit of verify_at_once().
constexpr Duration kTryWaitingEvery = std::chrono::milliseconds{2};
constexpr std::uint64_t kStepChance = 0x64697374U;

}  // namespace

SimDisk::SimDisk(const Plan& plan, std::uint16_t rank, Dependencies world)
    : plan_{plan},
      own_{plan.member[rank]},
      world_{std::move(world)},
      steps_{(plan.seed ^ kStepChance) * 1000 + rank},
      jobs_{std::max(plan.resident_blocks / 2U, 1U)},
      is_source_{rank == plan.source} {
}

std::optional<core::Completion> SimDisk::submit(const core::Operation& operation,
                                                MutableBytes buffer) {
    if (operation.kind == core::OperationKind::verify &&
        plan_.block_bytes[operation.block.index()] <= kAtOnceBytesMax) {
        return world_.content.perform(operation, buffer).completion;
    }
    const bool is_finish = operation.kind == core::OperationKind::finish;
    const std::size_t bytes = is_finish ? 0 : world_.content.block_length(operation.block);
    orders_.push_back({.ticket = operation.ticket,
                       .takes = time_of(operation),
                       .buffer = buffer.first(bytes)});
    look(orders_.back(), true);
    jobs_.add({.operation = operation, .buffer = buffer});
    go_on();
    return std::nullopt;
}

Duration SimDisk::time_of(const core::Operation& operation) {
    const std::uint64_t rate =
        own_.disk_bytes_per_s > 0 ? own_.disk_bytes_per_s : plan_.disk_bytes_per_s;
    const std::uint64_t share = operation.kind == core::OperationKind::verify ? 10 : 1;
    const bool is_finish = operation.kind == core::OperationKind::finish;
    const std::uint64_t bytes = is_finish ? 0 : plan_.block_bytes[operation.block.index()];
    const bool is_late =
        plan_.disk_late_max > Duration::zero() && world_.prng.chance_ppm(62'500);
    const Duration late = is_late
                              ? Duration{static_cast<Duration::rep>(world_.prng.below(
                                    static_cast<std::uint64_t>(plan_.disk_late_max.count())))}
                              : Duration{};
    return late + (is_finish ? own_.finish_takes : Duration{}) +
           plan_.disk_latency / static_cast<std::int64_t>(share) +
           Duration{static_cast<Duration::rep>(bytes * 1'000'000'000 / rate / share)};
}

/// Delays one step in four.
Duration SimDisk::lateness() {
    if (plan_.disk_step_late_max <= Duration::zero() || !steps_.chance_ppm(250'000)) {
        return {};
    }
    const auto most = static_cast<std::uint64_t>(plan_.disk_step_late_max.count());
    return Duration{static_cast<Duration::rep>(steps_.below(most))};
}

SimDisk::Order& SimDisk::order_of(core::Ticket ticket) {
    const auto found = std::ranges::find(orders_, ticket, &Order::ticket);
    invariant(found != orders_.end(), "the disk does what it was asked for");
    return *found;
}

/// The disk, or the session, has the buffer from now on.
void SimDisk::look(Order& order, bool may_differ) {
    if (!is_watched()) {
        return;
    }
    const Digest128 now = xxh3_128(order.buffer);
    if (!may_differ && now != order.seen) {
        world_.complain("it touched a buffer that its disk had");
    }
    order.seen = now;
}

/// The thread wakes up, or looks for more.
void SimDisk::go_on() {
    if (is_busy_ || !jobs_.has_next()) {
        return;
    }
    is_busy_ = true;
    if (const Duration late = lateness(); late > Duration::zero()) {
        world_.events.at<&SimDisk::begin>(world_.events.now() + late, *this);
    } else {
        begin();
    }
}

void SimDisk::begin(std::uint64_t) {
    if (!jobs_.has_next()) {
        return;  // It was stopped.
    }
    job_ = jobs_.next();
    if (own_.is_disk_stuck && job_->operation.kind == core::OperationKind::store) {
        return;
    }
    Order& order = order_of(job_->operation.ticket);
    const bool is_retry = std::exchange(order.has_begun, true);
    Instant until = world_.events.now() + (is_retry ? Duration{} : order.takes);
    if (own_.disk_stands_at && until >= Instant{*own_.disk_stands_at}) {
        until = std::max(until, Instant{*own_.disk_stands_at + own_.disk_stands_for});
    }
    if (is_watched() && steps_.below(2) == 0) {
        perform();
    }
    until += lateness();
    if (is_retry && until == world_.events.now()) {
        return end();
    }
    world_.events.at<&SimDisk::end>(until, *this);
}

void SimDisk::perform() {
    const core::Operation& operation = job_->operation;
    Order& order = order_of(operation.ticket);
    look(order, false);
    if (is_still_to_come(operation)) {
        ++did_.waited;
        performed_ = {.completion = {}, .again = true};
    } else if (is_full() && operation.kind == core::OperationKind::store) {
        performed_ = {.completion = {.ticket = operation.ticket,
                                     .kind = operation.kind,
                                     .block = operation.block,
                                     .verdict = core::Verdict::failed,
                                     .descriptor = {},
                                     .why = Error{Blame::user, "No space left on device"}}};
    } else {
        performed_ = world_.content.perform(operation, job_->buffer);
    }
    look(order, true);
}

void SimDisk::end(std::uint64_t) {
    if (jobs_.is_stopped()) {
        return;
    }
    if (!performed_) {
        perform();
    }
    const bool is_again =
        performed_->again && job_->operation.kind == core::OperationKind::store;
    const bool is_first = jobs_.performed(*std::exchange(performed_, std::nullopt));
    Order& order = order_of(job_->operation.ticket);
    did_.deferred += is_again ? 1U : 0U;
    did_.apart += is_first && order.was_deferred ? 1U : 0U;
    order.was_deferred = order.was_deferred || is_again;
    job_.reset();
    is_busy_ = false;
    if (jobs_.has_waiting() && !std::exchange(is_trying_, true)) {
        world_.events.at<&SimDisk::try_waiting>(world_.events.now() + kTryWaitingEvery, *this);
    }
    go_on();
    if (is_first) {
        world_.wake();
    }
}

/// DiskQueue does so, too.
void SimDisk::try_waiting(std::uint64_t) {
    is_trying_ = false;
    jobs_.try_waiting();
    go_on();
}

bool SimDisk::is_still_to_come(const core::Operation& operation) const {
    return is_source_ && operation.kind == core::OperationKind::load &&
           world_.events.now() < Instant{plan_.leg.arrival(operation.block.value())};
}

std::vector<core::Completion> SimDisk::take() {
    std::vector<core::Completion> done = jobs_.take();
    for (const core::Completion& each : done) {
        look(order_of(each.ticket), false);
        std::erase_if(orders_, [&](const Order& one) { return one.ticket == each.ticket; });
    }
    did_.together += done.size() > 1 ? 1U : 0U;
    return done;
}

void SimDisk::stop(bool is_dead) {
    if (jobs_.is_stopped()) {
        return;
    }
    jobs_.stop();
    did_.left = orders_.size();
    const bool is_stuck =
        job_ && own_.is_disk_stuck && job_->operation.kind == core::OperationKind::store;
    if (job_ && !performed_ && !is_stuck && !is_dead) {
        perform();
    }
}

bool SimDisk::is_full() const {
    const Duration now = world_.events.now().time_since_epoch();
    return own_.disk_full_at && now >= *own_.disk_full_at &&
           now < *own_.disk_full_at + own_.disk_full_for;
}

}  // namespace stage::sim

#include "tests/sim/host/sim_flow.h"

#include <unistd.h>

#include <utility>

namespace stage::sim {

SimFlow::SimFlow(const Plan& plan,
                 std::uint16_t rank,
                 const Dependencies& world,
                 seal::FlowSeal seal)
    : plan_{plan},
      own_{plan.member[rank]},
      world_{world},
      seal_{std::move(seal)},
      inbox_{plan.socket_buffer_bytes} {
    for (std::size_t set = 0; set < kFlowSets; ++set) {
        free_.push_back({.set = set, .packets = {}});
    }
}

void SimFlow::start(const std::atomic<std::uint64_t>& heard, int event) {
    heard_ = &heard;
    event_ = event;
}

void SimFlow::put(Instant at, const TrainUse& train, PacketMask mask) {
    if (inbox_.put(at, train, mask)) {
        wake_at(at + lateness());
    }
}

/// A thread that opens packets, or waits for buffers, looks again afterwards.
void SimFlow::wake_at(Instant when) {
    when = std::max(when, world_.events.now());
    if (reading_ || free_.empty() || when >= queued_) {
        return;
    }
    queued_ = when;
    world_.events.at<&SimFlow::wake>(
        when, *this, static_cast<std::uint64_t>(when.time_since_epoch().count()));
}

void SimFlow::wake(std::uint64_t queued) {
    const Instant planned{Duration{static_cast<Duration::rep>(queued)}};
    if (planned != queued_ || is_stopped_) {
        return;
    }
    queued_ = kNever;
    FlowBatch batch = std::move(free_.back());
    free_.pop_back();
    if (!read(batch)) {
        free_.push_back(std::move(batch));
        if (const auto first = inbox_.first_at(false)) {
            wake_at(*first + lateness());
        }
        return;
    }
    const Duration opens =
        own_.packet_cost * static_cast<std::int64_t>(packets_.size()) + lateness();
    reading_ = std::move(batch);
    world_.events.at<&SimFlow::hand_over>(world_.events.now() + opens, *this);
}

/// What the socket holds, as far as the buffers go. False if that is nothing.
bool SimFlow::read(FlowBatch& batch) {
    std::vector<Inbox::Arrival> arrivals;
    std::uint32_t taken = 0;
    while (taken < plan_.packets_per_turn) {
        auto arrival = inbox_.take(world_.events.now(), false);
        if (!arrival) {
            break;
        }
        taken += arrival->packets();
        arrivals.push_back(*std::move(arrival));
    }
    packets_.clear();
    world_.driver.unload(arrivals, buffers_[batch.set], packets_);
    heard_before_ = heard_->load(std::memory_order_relaxed);
    counters_.packets_received += taken;
    counters_.socket_overflow = inbox_.overflowed();
    const bool is_full = taken >= plan_.packets_per_turn;
    counters_.group_fill = is_full ? inbox_.fill(world_.events.now()) : std::uint8_t{0};
    batch.overflow = counters_.socket_overflow;
    batch.fill = counters_.group_fill;
    return taken > 0;
}

void SimFlow::hand_over(std::uint64_t) {
    if (is_stopped_) {
        return;
    }
    FlowBatch batch = *std::exchange(reading_, std::nullopt);
    for (const ReceivedPacket& packet : packets_) {
        if (const auto opened = seal_.open(packet.bytes, heard_before_)) {
            batch.packets.push_back({.opened = *opened, .stamp_ns = packet.stamp_ns});
        }
    }
    const bool has_any = !batch.packets.empty();
    if (has_any) {
        ready_.push_back(std::move(batch));
    } else {
        free_.push_back(std::move(batch));
    }
    times_full_ += free_.empty() ? 1U : 0U;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
    if (const auto first = inbox_.first_at(false)) {
        wake_at(*first);
    }
    world_.wake();
}

Result<std::optional<FlowBatch>> SimFlow::next() {
    if (ready_.empty()) {
        return std::optional<FlowBatch>{};
    }
    std::optional<FlowBatch> batch{std::move(ready_.front())};
    ready_.pop_front();
    return batch;
}

bool SimFlow::has_more() {
    const auto first = inbox_.first_at(false);
    return (first && *first <= world_.events.now()) || reading_ || !ready_.empty();
}

void SimFlow::give_back(FlowBatch batch) {
    batch.packets.clear();
    free_.push_back(std::move(batch));
    if (const auto first = inbox_.first_at(false)) {
        wake_at(*first);
    }
}

void SimFlow::stop() {
    is_stopped_ = true;
    inbox_.clear();
}

/// The delay of what the thread does next: too few cores for many threads.
Duration SimFlow::lateness() {
    Duration late = plan_.wake_latency + own_.wake_latency;
    if (plan_.flow_late_max > Duration::zero() && world_.prng.below(8) == 0) {
        late += Duration{static_cast<Duration::rep>(
            world_.prng.below(static_cast<std::uint64_t>(plan_.flow_late_max.count())))};
    }
    return late;
}

}  // namespace stage::sim

#include "transport/run/flows.h"

#include "transport/base/invariant.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage {
namespace {

/// A flow that was silent for this time is not waited for: its rail may have failed.
constexpr Duration kSilent = std::chrono::milliseconds{100};
/// Lateness is measured with this error.
constexpr Duration kSampleEvery = std::chrono::milliseconds{1};
/// Nothing is gained by waiting longer for a packet: until then it is requested.
constexpr Duration kSkewMax = std::chrono::milliseconds{50};

}  // namespace

Flows::Flows(std::vector<std::unique_ptr<FlowFeed>> feeds, Duration skew)
    : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, skew_{skew} {
    invariant(static_cast<bool>(event_), "the kernel gives an eventfd");
    for (std::unique_ptr<FlowFeed>& feed : feeds) {
        fronts_.emplace_back().feed = std::move(feed);
    }
    for (Front& front : fronts_) {
        front.feed->start(heard_, event_.get());
    }
}

Flows::~Flows() = default;

/// What threads hand over after the event was read makes it readable again.
Status Flows::take(std::vector<FlowPacket>& packets, std::size_t at_most, Duration now) {
    give_back_used();
    const std::size_t before = packets.size();
    if (Status merged = merge(packets, at_most, now); !merged || packets.size() > before) {
        return merged;
    }
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
    return merge(packets, at_most, now);
}

void Flows::give_back_used() {
    for (Front& front : fronts_) {
        for (FlowBatch& batch : front.used) {
            front.feed->give_back(std::move(batch));
        }
        front.used.clear();
    }
}

Status Flows::merge(std::vector<FlowPacket>& packets, std::size_t at_most, Duration now) {
    wait_max_.reset();
    std::ranges::for_each(fronts_, [](Front& front) { front.is_dry = false; });
    for (std::size_t taken = 0; taken < at_most; ++taken) {
        TRY(const auto is_known, look_at_fronts());
        Front* front = first();
        if (!is_known || front == nullptr || awaits_another(*front, now)) {
            return {};
        }
        step(*front, packets);
    }
    return {};
}

/// True if no flow can have a packet that is older than all at the fronts.
Result<bool> Flows::look_at_fronts() {
    bool any = false;
    for (Front& front : fronts_) {
        const bool is_open = !front.batch && !front.is_dry;
        TRY(is_open ? take_next(front) : Status{});
        any = any || front.batch.has_value();
    }
    const auto is_known = [](Front& front) {
        front.is_dry = front.is_dry || (!front.batch && !front.feed->has_more());
        return front.batch || front.is_dry;
    };
    return any && std::ranges::all_of(fronts_, is_known);
}

Status Flows::take_next(Front& front) {
    TRY(auto next, front.feed->next());
    front.batch = std::move(next);
    front.next = 0;
    if (front.batch) {
        front.overflow = front.batch->overflow;
        front.fill = front.batch->fill;
        // It may have come after the others were looked at.
        std::ranges::for_each(fronts_, [](Front& one) { one.is_dry = false; });
    }
    return {};
}

/// The clock of the stamps may be set: only times near now have a meaning.
bool Flows::awaits_another(const Front& first, Duration now) {
    const Duration waited = now - first.came_at();
    if (waited >= skew_ || waited <= -skew_) {
        return false;
    }
    const bool awaits = std::ranges::any_of(fronts_, [now](const Front& front) {
        return !front.batch && front.heard_at &&
               std::chrono::abs(now - *front.heard_at) < kSilent;
    });
    if (awaits) {
        wait_max_ = skew_ - waited;
    }
    return awaits;
}

Flows::Front* Flows::first() {
    Front* least = nullptr;
    for (Front& front : fronts_) {
        if (front.batch && (least == nullptr || front.number() < least->number())) {
            least = &front;
        }
    }
    return least;
}

void Flows::step(Front& front, std::vector<FlowPacket>& packets) {
    if (front.number() > heard_.load(std::memory_order_relaxed)) {
        heard_.store(front.number(), std::memory_order_relaxed);
        remember(front);
    } else if (front.number() > front.largest) {
        learn_skew(front);
    }
    front.largest = std::max(front.largest, front.number());
    front.heard_at = front.came_at();
    packets.push_back(front.batch->packets[front.next]);
    if (++front.next == front.batch->packets.size()) {
        front.used.push_back(*std::exchange(front.batch, std::nullopt));
    }
}

void Flows::remember(const Front& front) {
    if (passed_.empty() || front.came_at() >= passed_.back().came_at + kSampleEvery ||
        front.came_at() < passed_.back().came_at) {
        passed_.push_back({.number = front.number(), .came_at = front.came_at()});
    }
    if (passed_.size() > static_cast<std::size_t>(kSkewMax / kSampleEvery)) {
        passed_.pop_front();
    }
}

/// The packet came in its flow's order, but after later packets of other flows.
void Flows::learn_skew(const Front& front) {
    const auto later = std::ranges::find_if(
        passed_, [&front](const Passed& one) { return one.number > front.number(); });
    if (later == passed_.end() || front.came_at() <= later->came_at) {
        return;  // Its thread was late, not its path.
    }
    const Duration late = front.came_at() - later->came_at + kSampleEvery;
    skew_ = late <= kSkewMax ? std::max(skew_, late) : skew_;
}

std::uint64_t Flows::overflow() const {
    std::uint64_t sum = 0;
    for (const Front& front : fronts_) {
        sum += front.overflow;
    }
    return sum;
}

std::uint8_t Flows::fill() const {
    std::uint8_t most = 0;
    for (const Front& front : fronts_) {
        most = std::max(most, front.fill);
    }
    return most;
}

void Flows::stop() {
    for (Front& front : fronts_) {
        front.feed->stop();
    }
}

DriverCounters Flows::counters() const {
    DriverCounters sum;
    for (const Front& front : fronts_) {
        sum += front.feed->counters();
    }
    return sum;
}

seal::SealCounters Flows::refused() const {
    seal::SealCounters sum;
    for (const Front& front : fronts_) {
        sum += front.feed->refused();
    }
    return sum;
}

std::vector<std::uint64_t> Flows::received() const {
    std::vector<std::uint64_t> counts;
    for (const Front& front : fronts_) {
        counts.push_back(front.feed->counters().packets_received);
    }
    return counts;
}

}  // namespace stage

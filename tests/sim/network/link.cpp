#include "tests/sim/network/link.h"

#include "transport/base/prng.h"
#include "transport/core/sending/pacer.h"

#include <algorithm>
#include <bit>

namespace stage::sim {
namespace {

constexpr std::uint64_t kNsPerS = 1'000'000'000;

std::uint32_t wire_bytes(const Train& train, std::uint32_t index) {
    return train.body_bytes_of(index) + core::kWireOverheadBytes;
}

std::uint64_t wire_bytes_of(const Train& train, PacketMask mask) {
    const auto packets = static_cast<std::uint32_t>(std::popcount(mask));
    const bool has_last = ((mask >> (train.count - 1U)) & 1U) != 0;
    const std::uint64_t bytes =
        std::uint64_t{packets} * (train.body_bytes + core::kWireOverheadBytes);
    return has_last ? bytes - train.body_bytes + train.last_body_bytes : bytes;
}

}  // namespace

Link::Link(std::uint64_t bytes_per_s, std::uint64_t queue_bytes, std::uint64_t bucket_bytes)
    : rate_{bytes_per_s},
      queue_{queue_bytes > 0 ? time_of(queue_bytes) : Duration::max() / 4},
      bucket_{time_of(bucket_bytes)},
      busy_until_{-bucket_} {
}

Duration Link::time_of(std::uint64_t bytes) const {
    return Duration{static_cast<Duration::rep>(bytes * kNsPerS / rate_)};
}

Duration Link::backlog(Instant now) const {
    return std::max(busy_until_ - now, Duration::zero());
}

std::uint64_t Link::backlog_bytes(Instant now) const {
    const auto ns = static_cast<std::uint64_t>(backlog(now).count());
    return static_cast<std::uint64_t>(static_cast<Wide>(ns) * rate_ / kNsPerS);
}

Instant Link::drained_to(std::uint64_t bytes) const {
    return busy_until_ - time_of(bytes);
}

Instant Link::carry(Instant now, const Train& train, PacketMask& mask) {
    const auto first = static_cast<std::uint32_t>(std::countr_zero(mask));
    const auto last = kPacketsMax - 1U - static_cast<std::uint32_t>(std::countl_zero(mask));
    const std::uint64_t bytes = wire_bytes_of(train, mask);
    const Instant begin = now + train.spacing * first;
    const Duration time = time_of(bytes) + Duration{std::popcount(mask)};
    if (backlog(begin) + time <= queue_) {
        // No queue grows beyond its bound, however the packets are spaced: all at once.
        first_ = first_ ? first_ : begin;
        const Instant entered = now + train.spacing * last;
        const Duration last_time = time_of(wire_bytes(train, last)) + Duration{1};
        busy_until_ = std::max(std::max(busy_until_, begin - bucket_) + time,
                               entered - bucket_ + last_time);
        carried_ += bytes;
        return std::max(busy_until_, entered);
    }
    for (std::uint32_t i = first; i <= last; ++i) {
        const PacketMask bit = PacketMask{1} << i;
        if ((mask & bit) != 0 && !carry_one(now + train.spacing * i, wire_bytes(train, i))) {
            mask &= ~bit;
        }
    }
    return std::max(busy_until_, now);
}

bool Link::carry_one(Instant now, std::uint32_t bytes) {
    const Duration time = time_of(bytes) + Duration{1};
    if (backlog(now) + time > queue_) {
        dropped_ += bytes;
        return false;
    }
    first_ = first_ ? first_ : now;
    busy_until_ = std::max(busy_until_, now - bucket_) + time;
    carried_ += bytes;
    return true;
}

bool Link::is_honest() const {
    if (!first_) {
        return carried_ == 0;
    }
    const auto ns = static_cast<std::uint64_t>((busy_until_ - *first_ + bucket_).count());
    return carried_ <= static_cast<std::uint64_t>(static_cast<Wide>(ns) * rate_ / kNsPerS) + 1;
}

}  // namespace stage::sim

// The packets that have arrived at a simulated host and wait to be read.
//
// As many as its two sockets hold, the group's and its own, in the order of arrival; multicast
// packets may wait while the others are read.
#pragma once

#include "tests/sim/network/packets.h"
#include "transport/core/base/limits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

namespace stage::sim {

class Inbox {
  public:
    struct Arrival {
        Instant at;  ///< When the last packet arrives.
        TrainUse train;
        PacketMask mask = 0;

        [[nodiscard]] std::uint32_t packets() const {
            return static_cast<std::uint32_t>(std::popcount(mask));
        }
    };

    explicit Inbox(std::uint64_t bytes_max) : bytes_max_{bytes_max} {}

    /// What the buffer has no room for is lost. True if anything was taken.
    bool put(Instant at, const TrainUse& train, PacketMask mask) {
        const std::uint64_t each = bytes_of(*train);
        std::uint64_t& bytes = bytes_[train->to_group ? 1 : 0];
        const std::uint64_t room = bytes_max_ - std::min(bytes_max_, bytes);
        while (static_cast<unsigned>(std::popcount(mask)) * each > room) {
            mask &= ~std::bit_floor(mask);
            ++overflowed_;
        }
        if (mask == 0) {
            return false;
        }
        bytes += static_cast<unsigned>(std::popcount(mask)) * each;
        if (first_ > 0 && arrivals_.size() == arrivals_.capacity()) {
            arrivals_.erase(arrivals_.begin(), begin());
            first_ = 0;
        }
        auto place = arrivals_.end();
        while (place != begin() && std::prev(place)->at > at) {
            --place;
        }
        arrivals_.insert(place, {.at = at, .train = train, .mask = mask});
        return true;
    }

    /// When the first came that is counted: while the stream waits, of what is not to the
    /// group.
    [[nodiscard]] std::optional<Instant> first_at(bool stream_waits) const {
        const std::size_t at = first(stream_waits);
        return at < arrivals_.size() ? std::optional{arrivals_[at].at} : std::nullopt;
    }
    /// That one, if it came by `now`.
    [[nodiscard]] std::optional<Arrival> take(Instant now, bool stream_waits) {
        const std::size_t at = first(stream_waits);
        if (at == arrivals_.size() || arrivals_[at].at > now) {
            return std::nullopt;
        }
        Arrival taken = std::move(arrivals_[at]);
        bytes_[taken.train->to_group ? 1 : 0] -= taken.packets() * bytes_of(*taken.train);
        if (at == first_) {
            ++first_;
        } else {
            arrivals_.erase(arrivals_.begin() + static_cast<std::ptrdiff_t>(at));
        }
        if (first_ == arrivals_.size()) {
            arrivals_.clear();
            first_ = 0;
        }
        return taken;
    }
    void clear() {
        arrivals_.clear();
        first_ = 0;
        bytes_ = {};
    }

    /// How full the group's is with what has arrived by `now`, in 255ths.
    [[nodiscard]] std::uint8_t fill(Instant now) const {
        std::uint64_t bytes = 0;
        for (std::size_t i = first_; i < arrivals_.size() && arrivals_[i].at <= now; ++i) {
            const Train& train = *arrivals_[i].train;
            bytes += train.to_group ? arrivals_[i].packets() * bytes_of(train) : 0;
        }
        return static_cast<std::uint8_t>(
            std::min(bytes * 255 / bytes_max_, std::uint64_t{255}));
    }

    [[nodiscard]] std::uint64_t overflowed() const { return overflowed_; }

  private:
    [[nodiscard]] static std::uint64_t bytes_of(const Train& train) {
        return train.body_bytes + core::kWireOverheadBytes;
    }
    [[nodiscard]] std::size_t first(bool stream_waits) const {
        std::size_t at = first_;
        while (stream_waits && at < arrivals_.size() && arrivals_[at].train->to_group) {
            ++at;
        }
        return at;
    }
    [[nodiscard]] std::vector<Arrival>::iterator begin() {
        return arrivals_.begin() + static_cast<std::ptrdiff_t>(first_);
    }

    std::uint64_t bytes_max_;  ///< The capacity of each socket.
    std::vector<Arrival> arrivals_;
    std::size_t first_ = 0;                 ///< Those before it were taken.
    std::array<std::uint64_t, 2> bytes_{};  ///< To the host alone, to the group.
    std::uint64_t overflowed_ = 0;
};

}  // namespace stage::sim

// Decides how far a source reads an object that it does not send.
//
// Where the group reaches no receiver that needs data all of them request the object. The
// source then reads as many blocks ahead of their requests as stay in memory until they are
// requested: each block is read once, and no faster than the receivers take it. A run of blocks
// that no receiver requests, because all of them have it, is passed over after a while.
#pragma once

#include "transport/base/units.h"
#include "transport/wire/body.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace stage::core {

class ReadingOnDemand {
  public:
    explicit ReadingOnDemand(std::uint32_t resident_blocks)
        : ahead_{std::max(resident_blocks / 4U, 1U)}, step_{ahead_} {}

    /// All blocks before `behind` were read already, or are in no receiver's need.
    void start(Instant now, std::uint32_t behind = 0) {
        if (!std::exchange(is_on_, true)) {
            moved_at_ = now;
            asked_at_ = now;
            requested_below_ = std::max(requested_below_, std::uint64_t{behind});
        }
    }
    /// No receiver needs anything: there is no limit any more.
    void stop() { is_on_ = false; }
    [[nodiscard]] bool is_on() const { return is_on_; }

    /// A receiver requested chunks (or descriptors, which it does ahead of need).
    void on_request(Instant now, const wire::Request& request) {
        for (const wire::ChunkRun& run : request.runs) {
            if (run.count > 0) {
                asked_at_ = now;
                raise(now, run.block.value() + std::uint64_t{1});
            }
        }
    }
    /// A block without chunks was read: it is not requested.
    void on_hole(Instant now, BlockIndex block) {
        raise(now, block.value() + std::uint64_t{1});
    }
    /// All blocks before `read` were read.
    void poll(Instant now, std::uint32_t read) {
        read_ = read;
        if (const auto at = deadline(); at && now >= *at) {
            moved_at_ = now;
            asked_at_ = now;
            requested_below_ = read + step_ - ahead_;
            step_ = std::min(step_ * 2, kStepMax);
        }
    }
    /// Blocks from here on are not to be read yet.
    [[nodiscard]] std::uint32_t below() const {
        const std::uint64_t below = requested_below_ + ahead_;
        return static_cast<std::uint32_t>(is_on_ ? std::min(below, kNoLimit) : kNoLimit);
    }
    [[nodiscard]] std::optional<Instant> deadline() const {
        return is_on_ && read_ >= below() ? std::optional{std::min(moved_at_ + kUnrequestedTime,
                                                                   asked_at_ + kIdleTime)}
                                          : std::nullopt;
    }

  private:
    static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint32_t>::max();
    /// No request went further for as long,
    static constexpr Duration kUnrequestedTime = std::chrono::seconds{1};
    /// or none came at all: the receivers wait for descriptors of blocks that were not read.
    static constexpr Duration kIdleTime = std::chrono::milliseconds{100};
    static constexpr std::uint64_t kStepMax = 1U << 24U;

    /// What is requested out of order, far ahead, is in memory after it was read, too.
    void raise(Instant now, std::uint64_t below) {
        if (below > requested_below_) {
            requested_below_ = below;
            moved_at_ = now;
            step_ = ahead_;
        }
    }

    std::uint64_t ahead_;
    std::uint64_t step_;
    std::uint64_t requested_below_ = 0;
    std::uint32_t read_ = 0;
    bool is_on_ = false;
    Instant moved_at_{};
    Instant asked_at_{};
};

}  // namespace stage::core

// Finds the rate at which a connection sends without a queue on its path.
//
// TCP sends until a queue overflows. Where that queue is long, a lost packet is repeated after
// the queue's time only, and what arrived behind it waits in the peer's kernel meanwhile, so
// every member below waits, too. Where the RTT shows a queue, this limits the connection to a
// little less than the path delivers until the queue is gone, and then lets it grow slowly.
// A queue that does not become shorter meanwhile is other flows': then there is no limit for
// some time, and TCP has its share. Only for connections whose congestion control finds a rate
// by itself (has_rate_control()).
#pragma once

#include "transport/base/units.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stage::tcp {

/// What the kernel knows of a connection's path (tcp(7), TCP_INFO).
struct PathSample {
    Instant at{};
    std::uint64_t delivered_bytes = 0;  ///< Since the connection's begin, about.
    std::uint64_t unsent_bytes = 0;     ///< Wait in the kernel to be sent.
    Duration round_trip{};              ///< Smoothed.
    Duration least_round_trip{};
};

class SendPace {
  public:
    static constexpr Duration kInterval = std::chrono::milliseconds{50};
    /// Without a limit, where the queue is others': this at first, doubling to kFreeForMax.
    static constexpr Duration kFreeFor = std::chrono::seconds{1};
    static constexpr Duration kFreeForMax = std::chrono::seconds{16};

    [[nodiscard]] bool is_due(Instant now) const {
        return !last_ || now >= last_->at + kInterval;
    }
    /// Not before is_due().
    void on_sample(const PathSample& sample);
    /// 0: no limit.
    [[nodiscard]] std::uint64_t bytes_per_s() const { return rate_; }

  private:
    /// A time in which the queue must become shorter.
    struct Drain {
        Instant since{};
        Duration queue{};             ///< Then.
        std::uint64_t path_rate = 0;  ///< Then.
    };

    void on_queue(const PathSample& sample, Duration queue);
    void on_no_queue();
    [[nodiscard]] std::uint64_t path_rate() const;

    std::optional<PathSample> last_;
    std::uint64_t rate_ = 0;
    std::array<std::uint64_t, 4> delivered_{};  ///< Per second, in the last pairs of intervals.
    std::size_t next_ = 0;                      ///< The oldest of them.
    std::optional<PathSample> before_last_;
    std::optional<Drain> drain_;
    std::uint32_t grown_ = 0;  ///< Samples since the queue was gone.
    Instant free_until_{};     ///< The queue is others'.
    Duration free_for_ = kFreeFor;
};

}  // namespace stage::tcp

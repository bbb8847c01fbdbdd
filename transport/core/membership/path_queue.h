// Measures for how long a queue has stood on this member's own path.
//
// A PULSE carries the time at which the source sent it, and the kernel stamps its arrival. What
// it took longer than the least delay ever seen, it waited in queues. The least such wait in a
// short window is a standing queue, however much packets jitter. The queue is this member's own
// if most other receivers have less than half of it. A queue that all have is caused by the
// source, which yields by itself.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/limits.h"

#include <optional>

namespace stage::core {

class PathQueue {
  public:
    explicit PathQueue(const LeaveLimits& limits) : limits_{limits} {}

    /// The interval of PULSEs. Only a much longer silence leaves open what queue stood
    /// meanwhile.
    void expect(Duration every) { every_ = every; }
    /// `packets`: sent to the group before this PULSE, modulo 2^32. `others`: the queue that
    /// most receivers have.
    void on_pulse(Duration sent, Instant arrived, std::uint32_t packets, Duration others);

    /// Since when, by the kernel's clock, a queue stands here that most others do not have.
    [[nodiscard]] std::optional<Instant> stands_since() const { return since_; }
    /// For how long it has stood, as far as PULSEs showed.
    [[nodiscard]] Duration stood() const { return since_ ? last_ - *since_ : Duration::zero(); }
    /// Since when, by the same clock, there has been no queue.
    [[nodiscard]] std::optional<Instant> free_since() const { return free_since_; }
    /// The least recent queue.
    [[nodiscard]] Duration least() const { return least_standing_; }
    /// The queue that the newest PULSE met.
    [[nodiscard]] Duration newest() const { return newest_; }
    /// A shorter queue counts as none.
    [[nodiscard]] Duration noise() const;
    /// The least time between two packets of the stream while the queue stood.
    [[nodiscard]] Duration packet_time() const { return fastest_; }
    /// Forgets what stood: the next queue, or free path, must last anew.
    void forget() {
        since_.reset();
        free_since_.reset();
        window_since_.reset();
    }

  private:
    void measure(Duration sent, Instant arrived);
    void measure_packets(Duration sent, std::uint32_t packets);
    void judge();

    LeaveLimits limits_;
    Duration every_{};
    std::optional<Duration> least_delay_;
    Duration sent_{};  ///< When the newest PULSE was sent.
    Duration newest_{};
    Instant last_{};  ///< When it arrived.
    /// The stream's rate is measured since then,
    Duration pace_since_{};
    /// when this number of packets had been sent.
    std::uint32_t pace_packets_ = 0;
    Duration packet_time_{};  ///< Recent time between two packets,
    Duration fastest_{};      ///< and the least one.
    std::optional<Instant> window_since_;
    Duration window_least_{};
    Duration window_others_{};
    std::optional<Instant> since_;
    std::optional<Instant> free_since_;
    Duration least_standing_{};
};

}  // namespace stage::core

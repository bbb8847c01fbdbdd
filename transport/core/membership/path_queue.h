// For how long has a queue stood on this member's own path?
//
// Each PULSE says when the source sent it, and the kernel when it came: what it took longer
// than the least that was ever seen it waited in queues. The least of a short window stood
// there all the time, however packets jitter. It is this member's own where most others' paths
// have less than half of it: what all have is made at the source, which yields by itself.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/limits.h"

#include <optional>

namespace stage::core {

class PathQueue {
  public:
    explicit PathQueue(const LeaveLimits& limits) : limits_{limits} {}

    /// Pulses come so often: only a much longer silence leaves open what stood there meanwhile.
    void expect(Duration every) { every_ = every; }
    /// `packets`: sent to all before it, modulo 2^32. `others`: the queue that most have.
    void on_pulse(Duration sent, Instant arrived, std::uint32_t packets, Duration others);

    /// Since when, by the kernel's clock, a queue stands that others don't have.
    [[nodiscard]] std::optional<Instant> stands_since() const { return since_; }
    /// For so long, as far as pulses showed.
    [[nodiscard]] Duration stood() const { return since_ ? last_ - *since_ : Duration::zero(); }
    /// Since when, likewise, there has been none.
    [[nodiscard]] std::optional<Instant> free_since() const { return free_since_; }
    /// What stood there at least, of late.
    [[nodiscard]] Duration least() const { return least_standing_; }
    /// What the newest pulse waited.
    [[nodiscard]] Duration newest() const { return newest_; }
    /// What is shorter is no queue.
    [[nodiscard]] Duration noise() const;
    /// From one packet of the stream to the next, at its fastest while the queue stood.
    [[nodiscard]] Duration packet_time() const { return fastest_; }
    /// The next one has to stand anew, and the path to be free anew.
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
    Duration sent_{};  ///< The newest pulse.
    Duration newest_{};
    Instant last_{};                  ///< It came.
    Duration pace_since_{};           ///< Of the stream: since then
    std::uint32_t pace_packets_ = 0;  ///< so many had been sent.
    Duration packet_time_{};          ///< From one packet to the next, lately,
    Duration fastest_{};              ///< and at its least.
    std::optional<Instant> window_since_;
    Duration window_least_{};
    Duration window_others_{};
    std::optional<Instant> since_;
    std::optional<Instant> free_since_;
    Duration least_standing_{};
};

}  // namespace stage::core

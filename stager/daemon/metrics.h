// How does a site's monitoring see this daemon?
//
// A text file in Prometheus' format at `MetricsFile`, for node_exporter's textfile collector:
// no port of ours to guard. It is written whole beside its name and renamed, at the start and
// every kMetricsEvery, changed or not: a file that has grown old says that the daemon is gone.
// Names and labels are fixed, so no job and no user can add a series.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"

#include <string>

namespace stage {

inline constexpr Duration kMetricsEvery = std::chrono::seconds{15};

/// What is no count since the start.
struct Gauges {
    std::size_t stages_running = 0;
    bool is_enabled = true;
    std::int64_t started_at = 0;  ///< Seconds since the epoch.
};

/// The file's text.
[[nodiscard]] std::string metrics_text(const Counters& counters, const Gauges& gauges);

class MetricsFile {
  public:
    /// `services` outlives it. `refresh` brings the counters up to date.
    MetricsFile(const Services& services, std::function<void()> refresh);
    MetricsFile(const MetricsFile&) = delete;
    MetricsFile& operator=(const MetricsFile&) = delete;
    /// Takes the file away: who stops in order leaves no old numbers.
    ~MetricsFile();

    /// Now, and every kMetricsEvery from now on. Where no file is wanted any more, none stays.
    void write();

  private:
    const Services& services_;
    std::function<void()> refresh_;
    Gauges gauges_;
    std::string written_;  ///< Where the last one is.
    bool has_warned_ = false;
    Alarm alarm_;
};

}  // namespace stage

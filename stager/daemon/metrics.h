// Writes the daemon's counters to a file for a site's monitoring.
//
// The file `MetricsFile` has Prometheus' text format, for node_exporter's textfile collector,
// so that the daemon needs no port for it. It is written whole beside its name and renamed, at
// the start and every kMetricsEvery, changed or not: a file that has grown old shows that the
// daemon is not running. Names and labels are fixed, so no job and no user can add a series.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"

#include <string>

namespace stage {

class StagePlaces;

inline constexpr Duration kMetricsEvery = std::chrono::seconds{15};

/// The values that are no counts since the start.
struct Gauges {
    std::size_t stages_running = 0;
    std::size_t stages_waiting = 0;
    bool is_enabled = true;
    std::int64_t started_at = 0;  ///< Seconds since the epoch.
};

/// The file's text.
[[nodiscard]] std::string metrics_text(const Counters& counters, const Gauges& gauges);

class MetricsFile {
  public:
    /// Both outlive the object. `refresh` brings the counters up to date.
    MetricsFile(const Basics& basics, const StagePlaces& places, std::function<void()> refresh);
    MetricsFile(const MetricsFile&) = delete;
    MetricsFile& operator=(const MetricsFile&) = delete;
    /// Removes the file: a daemon that stops in order leaves no old numbers.
    ~MetricsFile();

    /// Writes the file now and every kMetricsEvery; removes it if MetricsFile has been unset.
    void write();

  private:
    const Basics& basics_;
    const StagePlaces& places_;
    std::function<void()> refresh_;
    Gauges gauges_;
    std::string written_;  ///< The path of the file as last written.
    bool has_warned_ = false;
    Alarm alarm_;
};

}  // namespace stage

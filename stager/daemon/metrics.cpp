#include "stager/daemon/metrics.h"

#include "stager/control/message.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/planning/stage_places.h"
#include "transport/base/log.h"
#include "transport/os/installation.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>

namespace stage {
namespace {

/// Writes the head of a metric: "stagecast_NAME", its help and its kind. Samples follow.
void family(std::string& text, std::string_view name, std::string_view kind, const char* help) {
    const std::string whole = "stagecast_" + std::string{name};
    text += "# HELP " + whole + ' ' + help + '\n';
    text += "# TYPE " + whole + ' ' + std::string{kind} + '\n';
}

void sample(std::string& text, std::string_view name_and_labels, const std::string& value) {
    text += "stagecast_" + std::string{name_and_labels} + ' ' + value + '\n';
}

void counter(std::string& text, std::string_view name, std::uint64_t value, const char* help) {
    family(text, name, "counter", help);
    sample(text, name, std::to_string(value));
}

void gauge(std::string& text, std::string_view name, std::int64_t value, const char* help) {
    family(text, name, "gauge", help);
    sample(text, name, std::to_string(value));
}

/// "12.345", without a locale's comma.
std::string seconds_text(std::uint64_t ms) {
    constexpr std::uint64_t kMsPerSecond = 1000;
    const std::string rest = std::to_string(kMsPerSecond + ms % kMsPerSecond);
    return std::to_string(ms / kMsPerSecond) + '.' + rest.substr(1);
}

/// A successful stage has no blame: its series has no such label.
void ended(std::string& text, const Counters& counters) {
    constexpr std::array<std::string_view, kStageRoles> kRoles{"job", "push", "source"};
    family(text,
           "stages_total",
           "counter",
           "Ended stages, by the role of this node, result and blame.");
    for (std::size_t role = 0; role < kStageRoles; ++role) {
        const std::string labels = "stages_total{role=\"" + std::string{kRoles[role]} + '"';
        const EndedStages& stages = counters.ended[role];
        sample(text, labels + ",verdict=\"ok\"}", std::to_string(stages.ok));
        for (const Blame blame : {Blame::user, Blame::node, Blame::internal}) {
            sample(
                text,
                labels + ",verdict=\"failed\",blame=\"" + std::string{to_string(blame)} + "\"}",
                std::to_string(stages.failed[static_cast<std::size_t>(blame)]));
        }
    }
}

/// Node names come from other nodes' daemons: what ends a label's value is escaped.
std::string label_value(const std::string& text) {
    std::string value;
    for (const char one : text) {
        if (one == '\n') {
            value += "\\n";
        } else {
            value += one == '"' || one == '\\' ? std::string{'\\', one} : std::string{one};
        }
    }
    return value;
}

void node_failures(std::string& text, const Counters& counters) {
    family(text,
           "node_failures_total",
           "counter",
           "Failures of nodes in stages that began on this node, not by a user's error.");
    for (const auto& [node, count] : counters.node_failures) {
        sample(text,
               "node_failures_total{culprit=\"" + label_value(node) + "\"}",
               std::to_string(count));
    }
    sample(text,
           "node_failures_total{culprit=\"\"}",
           std::to_string(counters.other_node_failures));
}

void workers(std::string& text, const WorkerCounts& counted) {
    family(text,
           "workers_total",
           "counter",
           "Workers that ended, by the fabric of their packets.");
    for (std::size_t i = 0; i < kCountedFabrics.size(); ++i) {
        sample(text,
               "workers_total{fabric=\"" + std::string{kCountedFabrics[i]} + "\"}",
               std::to_string(counted.by_fabric[i]));
    }
    counter(text,
            "workers_unreached_total",
            counted.unreached,
            "Workers here that multicast did not reach.");
    counter(text,
            "reused_bytes_total",
            counted.bytes_here,
            "Bytes of stages that this node had already, in its cache or of an earlier stage.");
    family(
        text, "packets_total", "counter", "Packets of workers here, by what became of them.");
    sample(text, "packets_total{what=\"sent\"}", std::to_string(counted.packets_sent));
    sample(text, "packets_total{what=\"received\"}", std::to_string(counted.packets_received));
    sample(text, "packets_total{what=\"lost\"}", std::to_string(counted.packets_lost));
    sample(text, "packets_total{what=\"repaired\"}", std::to_string(counted.packets_repaired));
    sample(text, "packets_total{what=\"rejected\"}", std::to_string(counted.packets_rejected));
}

/// Each bucket includes the counts of those before it.
void durations(std::string& text, const Counters& counters) {
    family(text,
           "stage_seconds",
           "histogram",
           "From the plugin's call to the result, of jobs that were staged.");
    std::uint64_t so_far = 0;
    for (std::size_t at = 0; at < kStageSeconds.size(); ++at) {
        so_far += counters.ok_within[at];
        sample(text,
               "stage_seconds_bucket{le=\"" + std::to_string(kStageSeconds[at]) + "\"}",
               std::to_string(so_far));
    }
    const std::string all = std::to_string(counters.stages_timed);
    sample(text, "stage_seconds_bucket{le=\"+Inf\"}", all);
    sample(text, "stage_seconds_sum", seconds_text(counters.ok_ms));
    sample(text, "stage_seconds_count", all);
}

/// A file that another user made under the temporary name is removed, never followed or
/// written into.
Status write_whole(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".stagecast";
    static_cast<void>(::unlink(temporary.c_str()));
    const UniqueFd file{
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644)};
    if (!file) {
        return Error::from_errno(Blame::node, temporary);
    }
    errno = 0;
    const auto written = ::write(file.get(), text.data(), text.size());
    const bool whole = written == static_cast<ssize_t>(text.size()) &&
                       ::fchmod(file.get(), 0644) == 0 &&
                       ::rename(temporary.c_str(), path.c_str()) == 0;
    if (!whole) {
        const int cause = errno == 0 ? ENOSPC : errno;  // A short write sets no errno.
        static_cast<void>(::unlink(temporary.c_str()));
        return Error::from_errno(Blame::node, path, cause);
    }
    return {};
}

}  // namespace

std::string metrics_text(const Counters& counters, const Gauges& gauges) {
    std::string text;
    family(text, "info", "gauge", "The running release.");
    sample(text, "info{version=\"" + std::string{version()} + "\"}", "1");
    gauge(text, "start_time_seconds", gauges.started_at, "When stagecastd started.");
    gauge(text, "enabled", gauges.is_enabled ? 1 : 0, "Whether jobs may stage (Enabled).");
    gauge(text,
          "stages_running",
          static_cast<std::int64_t>(gauges.stages_running),
          "Stages with a worker on this node.");
    gauge(text,
          "stages_waiting",
          static_cast<std::int64_t>(gauges.stages_waiting),
          "Stages that wait for a place on this, their first node.");
    counter(text,
            "stages_begun_total",
            counters.stages_begun,
            "Stages in which this node took part.");
    ended(text, counters);
    node_failures(text, counters);
    counter(text,
            "staged_bytes_total",
            counters.bytes_staged,
            "Bytes of files that were brought to this node.");
    counter(text,
            "pushed_bytes_total",
            counters.bytes_pushed,
            "Bytes of files that this node, as source of a push, brought to others.");
    durations(text, counters);
    workers(text, counters.workers);
    family(text, "refused_total", "counter", "Rejected requests, by entry point.");
    sample(text, "refused_total{door=\"socket\"}", std::to_string(counters.control_refused));
    sample(text, "refused_total{door=\"link\"}", std::to_string(counters.links_refused));
    sample(text, "refused_total{door=\"message\"}", std::to_string(counters.messages_refused));
    counter(text,
            "hosts_replaced_total",
            counters.hosts_replaced,
            "PMIx hosts replaced because they hung or crashed.");
    counter(text,
            "workers_killed_total",
            counters.workers_killed,
            "Workers killed because they did not end in time.");
    counter(text,
            "directories_swept_total",
            counters.directories_swept,
            "Stale job directories removed at startup.");
    family(text, "cache_files_total", "counter", "Files of the node cache, by event.");
    sample(text, "cache_files_total{what=\"given\"}", std::to_string(counters.cache_hits));
    sample(text, "cache_files_total{what=\"kept\"}", std::to_string(counters.cache_kept));
    sample(text, "cache_files_total{what=\"part\"}", std::to_string(counters.cache_parts));
    sample(text, "cache_files_total{what=\"fetched\"}", std::to_string(counters.cache_fetched));
    sample(text, "cache_files_total{what=\"evicted\"}", std::to_string(counters.cache_evicted));
    return text;
}

MetricsFile::MetricsFile(const Basics& basics,
                         const StagePlaces& places,
                         std::function<void()> refresh)
    : basics_{basics},
      places_{places},
      refresh_{std::move(refresh)},
      alarm_{basics.loop, [this] { write(); }} {
    gauges_.started_at = ::time(nullptr);
}

MetricsFile::~MetricsFile() {
    if (!written_.empty()) {
        static_cast<void>(::unlink(written_.c_str()));
    }
}

void MetricsFile::write() {
    alarm_.set(basics_.loop.now() + kMetricsEvery);
    const std::string& path = basics_.config.metrics_file;
    if (!written_.empty() && written_ != path) {
        static_cast<void>(::unlink(written_.c_str()));
        written_.clear();
    }
    if (path.empty()) {
        return;
    }
    refresh_();
    gauges_.stages_running = places_.taken() + places_.taken_by_members();
    gauges_.stages_waiting = places_.waiting();
    gauges_.is_enabled = basics_.config.enabled;
    const Status written = write_whole(path, metrics_text(basics_.counters, gauges_));
    if (written) {
        written_ = path;
        has_warned_ = false;
    } else if (!std::exchange(has_warned_, true)) {
        basics_.log.warn("cannot write MetricsFile; does its directory exist?",
                         {{"why", written.error().sentence()}});
    }
}

}  // namespace stage

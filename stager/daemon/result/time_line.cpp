#include "stager/daemon/result/time_line.h"

#include "stager/spec/amount.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

std::string job_text(const StageKey& key) {
    return std::to_string(key.job_id) +
           (key.step_id == kWholeJob ? "" : "." + std::to_string(key.step_id));
}

void count_culprits(Counters& counters, const std::vector<std::string>& culprits) {
    for (const std::string& node : culprits) {
        if (counters.node_failures.size() < kCulpritsMax ||
            counters.node_failures.contains(node)) {
            ++counters.node_failures[node];
        } else {
            ++counters.other_node_failures;
        }
    }
}

std::int64_t ms_between(std::optional<Instant> from, std::optional<Instant> to) {
    if (!from || !to) {
        return -1;
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(*to - *from).count();
}

}  // namespace

void log_time_line(const Logger& log, const StageFacts& facts, const StageTimes& times) {
    log.info("stage finished",
             {{"job", job_text(facts.key)},
              {"restart", facts.key.restart},
              {"nodes", facts.nodes},
              {"bytes", facts.bytes},
              {"announce_ms", ms_between(times.announced, times.planned)},
              {"start_ms", ms_between(times.planned, times.started)},
              {"wireup_ms", ms_between(times.started, times.wired)},
              {"transfer_ms", ms_between(times.wired, times.done)},
              {"verify_ms", ms_between(times.done, times.settled)},
              {"total_ms", ms_between(times.announced, times.settled)},
              {"outcome", to_string(facts.outcome)},
              {"why", facts.sentence}});
}

void count_settled(Counters& counters, const StageFacts& facts, const StageTimes& times) {
    count_culprits(counters, facts.culprits);
    EndedStages& ended = counters.ended[static_cast<std::size_t>(facts.role)];
    if (is_failure(facts.outcome)) {
        ++ended.failed[static_cast<std::size_t>(facts.blame)];
        return;
    }
    ++ended.ok;
    (facts.role == StageRole::source ? counters.bytes_pushed : counters.bytes_staged) +=
        facts.bytes;
    const std::int64_t took = ms_between(times.announced, times.settled);
    if (facts.role != StageRole::job || took < 0) {
        return;
    }
    const auto ms = static_cast<std::uint64_t>(took);
    ++counters.stages_timed;
    counters.ok_ms += ms;
    const auto* const bound = std::ranges::find_if(
        kStageSeconds, [ms](std::uint64_t seconds) { return ms <= seconds * 1000; });
    if (bound != kStageSeconds.end()) {
        ++counters.ok_within[static_cast<std::size_t>(bound - kStageSeconds.begin())];
    }
}

std::string summary_of(const StageFacts& facts, std::size_t files, const StageTimes& times) {
    const auto seconds = [](std::int64_t ms) {
        return tenths_text(static_cast<double>(ms) / 1e3) + " s";
    };
    std::string text = "staged " + count_text(files, "file") + ", " + amount_text(facts.bytes) +
                       ", on " + count_text(facts.nodes, "node") + " in " +
                       seconds(ms_between(times.announced, times.settled));
    const std::int64_t transfer = ms_between(times.wired, times.settled);
    return transfer < 0 ? text : text + " (transfer " + seconds(transfer) + ")";
}

void count_worker(WorkerCounts& counters, const WorkerStatistics& counted) {
    const auto add = [](std::uint64_t& sum, std::uint64_t more) {
        sum += std::min(more, kWorkerCountMax);
    };
    const auto* const fabric = std::ranges::find(kCountedFabrics, counted.node.fabric);
    if (fabric != kCountedFabrics.end()) {
        ++counters.by_fabric[static_cast<std::size_t>(fabric - kCountedFabrics.begin())];
    }
    counters.unreached += counted.node.was_unreachable ? 1 : 0;
    add(counters.bytes_here, counted.node.bytes_here);
    add(counters.packets_sent, counted.packets_sent);
    add(counters.packets_received, counted.packets_received);
    add(counters.packets_lost, counted.node.packets_lost);
    add(counters.packets_repaired, counted.node.packets_repaired);
    add(counters.packets_rejected, counted.packets_rejected);
}

void log_worker(const Logger& log, const StageKey& key, const WorkerStatistics& counted) {
    log.info("worker left",
             {{"job", job_text(key)},
              {"bytes", counted.bytes},
              {"packets_sent", counted.packets_sent},
              {"packets_received", counted.packets_received},
              {"packets_lost", counted.node.packets_lost},
              {"packets_repaired", counted.node.packets_repaired},
              {"packets_rejected", counted.packets_rejected},
              {"packets_overflowed", counted.packets_overflowed}});
    if (!counted.flow_packets.empty() || counted.rails > 1) {
        log.info("worker's flows",
                 {{"job", job_text(key)},
                  {"rails", std::max<std::uint8_t>(counted.rails, 1)},
                  {"flow_packets", nlohmann::json(counted.flow_packets).dump()}});
    }
}

}  // namespace stage

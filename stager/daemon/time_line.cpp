#include "stager/daemon/time_line.h"

namespace stage {
namespace {

std::int64_t ms_between(std::optional<Instant> from, std::optional<Instant> to) {
    if (!from || !to) {
        return -1;
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(*to - *from).count();
}

}  // namespace

void log_time_line(const Logger& log, const StageFacts& facts, const StageTimes& times) {
    const std::string step =
        facts.key.step_id == kWholeJob ? "" : "." + std::to_string(facts.key.step_id);
    log.info("stage finished",
             {{"job", std::to_string(facts.key.job_id) + step},
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

}  // namespace stage

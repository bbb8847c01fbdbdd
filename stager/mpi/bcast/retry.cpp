#include "stager/mpi/bcast/retry.h"

#include <algorithm>

extern "C" {

int stagecast_must_wait(const stagecast_paths* paths,
                        const stagecast_record* record,
                        double now) {
    return record->is_proven == 0 && now < paths->until ? 1 : 0;
}

int stagecast_note_failure(stagecast_paths* paths, stagecast_record* record, double now) {
    constexpr int kFailures = 2;
    constexpr int kDoublings = 9;  // To more than the longest wait.
    const bool is_news = record->is_proven != 0 || paths->waits == 0;
    record->is_proven = 0;
    ++record->failures;
    if (is_news && record->failures < kFailures) {
        return 0;
    }
    const int seconds =
        std::min(STAGECAST_WAIT_S << std::min(paths->waits, kDoublings), +STAGECAST_WAIT_MAX_S);
    ++paths->waits;
    paths->until = now + seconds;
    return seconds;
}

void stagecast_note_success(stagecast_paths* paths, stagecast_record* record) {
    if (record->failures > 0) {
        paths->waits = 0;
    }
    *record = {.failures = 0, .is_proven = 1};
}
}

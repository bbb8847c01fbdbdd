#include "stager/mpi/bcast/choice.h"

#include "stager/mpi/bcast/short_packet.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace stage {
namespace {

/// Below it a session's round trips take longer than what is saved.
constexpr std::int64_t kLeastBytes = 256 << 10;
/// Whatever is asked for, unless all messages are to go by the group.
constexpr std::int64_t kLeastBytesEver = 64 << 10;

std::string_view variable(const char* name) {
    const char* text = ::secure_getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? std::string_view{} : text;
}

std::int64_t number(const char* name, std::int64_t otherwise) {
    const std::string_view text = variable(name);
    static_cast<void>(std::from_chars(text.data(), text.data() + text.size(), otherwise));
    return otherwise;
}

std::int64_t mode_named(std::string_view word) {
    return word == "off"     ? STAGECAST_BCAST_OFF
           : word == "force" ? STAGECAST_BCAST_FORCE
                             : STAGECAST_BCAST_AUTO;
}

}  // namespace
}  // namespace stage

extern "C" {

stagecast_settings stagecast_settings_of_environment() {
    stagecast_settings settings{};
    settings.mode = stage::mode_named(stage::variable("STAGECAST_BCAST"));
    const std::string_view verbose = stage::variable("STAGECAST_BCAST_VERBOSE");
    settings.is_verbose = !verbose.empty() && verbose != "0" ? 1 : 0;
    const bool is_forced = settings.mode == STAGECAST_BCAST_FORCE;
    settings.least_bytes = std::max(stage::number("STAGECAST_BCAST_MIN", stage::kLeastBytes),
                                    is_forced ? 1 : stage::kLeastBytesEver);
    constexpr std::int64_t kMost = stage::kShortBytes;
    settings.short_bytes = std::clamp<std::int64_t>(
        stage::number("STAGECAST_BCAST_SHORT", is_forced ? kMost : 0), 0, kMost);
    return settings;
}

int stagecast_class_of(uint64_t bytes, uint64_t least_bytes) {
    int number = 0;
    while (number + 1 < STAGECAST_CLASSES && bytes / 4 >= least_bytes) {
        bytes /= 4;
        ++number;
    }
    return number;
}

int stagecast_short_class_of(uint64_t bytes) {
    return bytes <= stage::kShortFragmentBytes ? 0 : 1;
}

int stagecast_next_way(const stagecast_trial* trial) {
    if (trial->is_decided != 0) {
        return trial->way;
    }
    return trial->calls % 2 == 0 ? STAGECAST_BY_GROUP : STAGECAST_BY_MPI;
}

int stagecast_tell(stagecast_trial* trial, double seconds, int trial_calls) {
    const int way = stagecast_next_way(trial);
    double& shortest = trial->seconds[way];
    if (trial->calls > 0) {
        shortest = shortest > 0 ? std::min(shortest, seconds) : seconds;
    }
    return ++trial->calls >= trial_calls ? 1 : 0;
}

void stagecast_decide(stagecast_trial* trial, const double* seconds) {
    std::copy_n(seconds, STAGECAST_WAYS, trial->seconds);
    trial->way = seconds[STAGECAST_BY_GROUP] < seconds[STAGECAST_BY_MPI] ? STAGECAST_BY_GROUP
                                                                         : STAGECAST_BY_MPI;
    trial->is_decided = 1;
}
}

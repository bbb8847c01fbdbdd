#include "stager/mpi/bcast/choice.h"

#include "stager/mpi/bcast/short_packet.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

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

/// A variable's number; `otherwise` if it is not set. Nothing if it is no number.
std::optional<std::int64_t> number(const char* name, std::int64_t otherwise) {
    const std::string_view text = variable(name);
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, otherwise);
    return text.empty() || (read.ec == std::errc{} && read.ptr == end)
               ? std::optional{otherwise}
               : std::nullopt;
}

std::optional<std::int64_t> mode_named(std::string_view word) {
    if (word == "off") {
        return STAGECAST_BCAST_OFF;
    }
    if (word == "force") {
        return STAGECAST_BCAST_FORCE;
    }
    return word.empty() || word == "auto" ? std::optional<std::int64_t>{STAGECAST_BCAST_AUTO}
                                          : std::nullopt;
}

}  // namespace
}  // namespace stage

extern "C" {

stagecast_settings stagecast_settings_of_environment() {
    stagecast_settings settings{};
    const auto mode = stage::mode_named(stage::variable("STAGECAST_BCAST"));
    const auto least = stage::number("STAGECAST_BCAST_MIN", stage::kLeastBytes);
    settings.mode = mode.value_or(STAGECAST_BCAST_OFF);
    const std::string_view verbose = stage::variable("STAGECAST_BCAST_VERBOSE");
    settings.is_verbose = !verbose.empty() && verbose != "0" ? 1 : 0;
    const bool is_forced = settings.mode == STAGECAST_BCAST_FORCE;
    settings.least_bytes =
        std::max(least.value_or(stage::kLeastBytes), is_forced ? 1 : stage::kLeastBytesEver);
    constexpr std::int64_t kMost = stage::kShortBytes;
    const auto most_short = stage::number("STAGECAST_BCAST_SHORT", is_forced ? kMost : 0);
    settings.short_bytes = std::clamp<std::int64_t>(most_short.value_or(0), 0, kMost);
    if (!mode || !least || !most_short) {
        settings.mode = STAGECAST_BCAST_OFF;
        settings.is_unclear = 1;
    }
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

void stagecast_restart(stagecast_trial* trial) {
    *trial = {};
}

void stagecast_decide(stagecast_trial* trial, const double* seconds) {
    std::copy_n(seconds, STAGECAST_WAYS, trial->seconds);
    trial->way = seconds[STAGECAST_BY_GROUP] < seconds[STAGECAST_BY_MPI] ? STAGECAST_BY_GROUP
                                                                         : STAGECAST_BY_MPI;
    trial->is_decided = 1;
}
}

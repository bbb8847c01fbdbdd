#include "stager/cli/prolog.h"

#include "stager/cli/common/command_line.h"
#include "stager/config/config.h"
#include "stager/config/value.h"
#include "stager/control/client.h"
#include "transport/os/installation.h"

#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

namespace stage {
namespace {

constexpr CallTimeouts kShortTimeout{.connect = std::chrono::seconds{5},
                                     .answer = std::chrono::seconds{5},
                                     .absent = std::chrono::seconds{3}};
/// The daemon decides within StageTimeout; this is added for its answer.
constexpr Duration kGrace = std::chrono::seconds{3};
/// The variable in which the plugin on the submit host passes the specs to the prologs
/// (spank/host/names.h).
constexpr const char* kSpecs = "SPANK_STAGECAST_SPECS";
constexpr std::string_view kNothing = "none";

std::string variable(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::string{} : value;
}

int say(int code, const std::string& sentence) {
    static_cast<void>(
        std::fprintf(stderr, "stagecast prolog: %s\n", printable(sentence).c_str()));
    return code;
}

std::uint32_t number(const char* name) {
    const auto value = read_count(variable(name));
    return value && *value <= std::numeric_limits<std::uint32_t>::max()
               ? static_cast<std::uint32_t>(*value)
               : 0;
}

/// Clears a value that is too long: the daemon then refuses the stage and remembers why.
std::string bounded(std::string text, std::size_t limit) {
    return text.size() <= limit ? std::move(text) : std::string{};
}

StageRequest request_from_environment() {
    StageRequest request;
    request.key = {.job_id = number("SLURM_JOB_ID"),
                   .step_id = kWholeJob,
                   .restart = number("SLURM_JOB_RESTART_COUNT")};
    request.uid = number("SLURM_JOB_UID");
    request.gid = number("SLURM_JOB_GID");
    request.node_name = bounded(variable("SLURMD_NODENAME"), kMaxNameBytes);
    request.node_list = bounded(variable("SLURM_NODELIST"), kMaxNodeListBytes);
    request.work_dir = bounded(variable("SLURM_JOB_WORK_DIR"), kMaxPathBytes);
    if (!request.work_dir.starts_with('/')) {
        request.work_dir.clear();
    }
    request.specs = bounded(variable(kSpecs), kMaxSpecsBytes);
    return request;
}

int announce(const std::string& socket, Duration limit) {
    // A stopped daemon would accept the STAGE and block the script.
    if (const auto alive = ask_daemon(socket, PingRequest{}, kShortTimeout); !alive) {
        return say(0, alive.error().sentence());
    }
    const auto answer = ask_daemon(socket,
                                   request_from_environment(),
                                   {.connect = kShortTimeout.connect, .answer = limit});
    if (!answer) {
        return say(0, answer.error().sentence());
    }
    const auto* verdict = std::get_if<Verdict>(&*answer);
    const auto* refused = std::get_if<Refused>(&*answer);
    if (refused != nullptr) {
        return say(0, refused->sentence);
    }
    return verdict != nullptr && !verdict->sentence.empty() ? say(0, verdict->sentence) : 0;
}

}  // namespace

int run_prolog(std::span<char* const> words) {
    constexpr std::array kOptions{OptionName{"config", 'c', true}};
    const auto line = read_command_line(words, kOptions);
    if (!line || !line->operands.empty()) {
        return say(EX_USAGE,
                   line ? printable(line->operands.front()) + ": it takes no operand"
                        : line.error().sentence());
    }
    const std::string specs = variable(kSpecs);
    if (specs.empty() || specs == kNothing) {
        return 0;  // A job without --stage-file.
    }
    if (::geteuid() != 0 || number("SLURM_JOB_ID") == 0 || variable("SLURM_JOB_UID").empty() ||
        variable("SLURM_JOB_GID").empty()) {
        return say(EX_USAGE, "is for Slurm's Prolog script, which runs as root for a job");
    }
    const std::string path = line->options.empty() ? config_path() : line->options.back().value;
    const auto loaded = load_config(path);
    const Config config = loaded ? *loaded : default_config();
    if (!loaded && loaded.error().cause() != ENOENT) {
        return say(0, loaded.error().sentence());
    }
    if (config.stage_from != StageFrom::prolog_script) {
        return 0;  // The plugin has done it.
    }
    return announce(config.run_dir + "/stagecastd.sock", config.stage_timeout + kGrace);
}

}  // namespace stage

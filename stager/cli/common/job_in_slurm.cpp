#include "stager/cli/common/job_in_slurm.h"

#include "stager/cli/common/commands.h"
#include "stager/config/value.h"

namespace stage {
namespace {

constexpr std::string_view kOwn = "stagecast: ";
constexpr std::string_view kBetween = " ; ";

/// The value of the field that begins a line: a job's name can't pass for it. `ends`: what ends
/// the value.
std::string_view value_of(std::string_view text, std::string_view name, const char* ends) {
    while (!text.empty()) {
        const std::string_view line = trimmed(text.substr(0, text.find('\n')));
        if (line.starts_with(name)) {
            const std::string_view value = line.substr(name.size());
            return value.substr(0, value.find_first_of(ends));
        }
        const std::size_t end = text.find('\n');
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return {};
}

}  // namespace

JobInSlurm parse_job_in_slurm(std::string_view text) {
    JobInSlurm job{.state = std::string{value_of(text, "JobState=", " ")},
                   .node_list = std::string{value_of(text, "NodeList=", " ")},
                   .staging = {}};
    if (job.node_list == "(null)") {
        job.node_list.clear();
    }
    std::string_view comment = value_of(text, "AdminComment=", "\n");
    while (!comment.empty()) {
        const std::size_t end = comment.find(kBetween);
        const std::string_view part = comment.substr(0, end);
        if (part.starts_with(kOwn)) {
            job.staging = trimmed(part.substr(kOwn.size()));
        }
        comment.remove_prefix(end == std::string_view::npos ? comment.size()
                                                            : end + kBetween.size());
    }
    return job;
}

Result<JobInSlurm> job_in_slurm(std::uint32_t job) {
    const CommandLimits brief{.longest = std::chrono::seconds{10}};
    const Command scontrol{.words = {"scontrol", "show", "job", std::to_string(job)},
                           .input = {}};
    const auto ended = run_commands({scontrol}, brief);
    JobInSlurm known = parse_job_in_slurm(ended ? ended->front().out : std::string{});
    if (known.state.empty()) {
        return Error{Blame::user,
                     "slurmctld does not report job " + std::to_string(job) +
                         "; it may have ended long ago"};
    }
    return known;
}

}  // namespace stage

#include "stager/cli/common/array_task.h"

#include "stager/cli/common/commands.h"
#include "stager/config/value.h"

namespace stage {

bool is_array_task(std::string_view text) {
    const std::size_t between = text.find('_');
    return between != std::string_view::npos && read_count(text.substr(0, between)) &&
           read_count(text.substr(between + 1));
}

Result<std::string> job_of_task(const std::string& task) {
    const CommandLimits brief{.longest = std::chrono::seconds{10}};
    const Command squeue{
        .words = {"squeue", "--noheader", "--states=all", "--jobs=" + task, "--format=%A"},
        .input = {}};
    const auto ended = run_commands({squeue}, brief);
    const std::string text{trimmed(ended ? ended->front().out : std::string{})};
    if (!read_count(text)) {
        return Error{Blame::user, "slurmctld does not report the job of " + task}.remedy(
            "give its id: $SLURM_JOB_ID in it, squeue -j " + task +
            " -o %A while it runs, or sacct -j " + task + " -o JobIDRaw");
    }
    return text;
}

}  // namespace stage

#include "spank/job/publish.h"

#include "spank/host/names.h"

#include <string>

namespace stage {
namespace {

/// An environment string may be 128 KiB long; a longer one breaks the exec of the job's tasks.
constexpr std::size_t kMaxFilesBytes = 96U << 10U;

/// Prepends `directory` to the job's LD_LIBRARY_PATH, once. Its $ORIGIN is for the loader.
void publish_libraries(SpankHandle& handle, std::string directory) {
    constexpr const char* kVariable = "LD_LIBRARY_PATH";
    directory.pop_back();  // The slash.
    const std::string path = handle.job_variable(kVariable).value_or("");
    if ((':' + path + ':').find(':' + directory + ':') == std::string::npos) {
        handle.set_job_variable(kVariable, path.empty() ? directory : directory + ':' + path);
    }
}

void publish_directories(SpankHandle& handle,
                         const std::optional<Verdict>& job,
                         const std::optional<Verdict>& step) {
    std::string directory = job ? job->stage_dir : std::string{};
    if (step && !step->stage_dir.empty()) {
        handle.set_job_variable(kStepDir, step->stage_dir);
        if (directory.empty()) {
            directory = step->stage_dir.substr(0, step->stage_dir.rfind('/'));
        }
    }
    if (!directory.empty()) {
        handle.set_job_variable(kStageDir, directory);
    }
}

}  // namespace

void publish(SpankHandle& handle,
             const std::optional<Verdict>& job,
             const std::optional<Verdict>& step,
             bool has_failed) {
    std::string files;
    for (const auto* const verdict : {&job, &step}) {
        if (!*verdict) {
            continue;
        }
        for (const std::string& path : (*verdict)->paths) {
            if (path.ends_with('/')) {
                publish_libraries(handle, path);
                continue;
            }
            // A line break in a name would make two lines; $STAGECAST_DIR/.stagecast/files has
            // the names unchanged.
            files += path.find('\n') == std::string::npos ? path : printable(path);
            files += '\n';
        }
    }
    if (!files.empty()) {
        files.pop_back();
    }
    publish_directories(handle, job, step);
    if (job && !job->dropped_nodes.empty()) {
        handle.set_job_variable(kDroppedNodes, job->dropped_nodes);
    } else if (job) {
        handle.unset_job_variable(kDroppedNodes);  // It may be that of the submitting job.
    }
    if (!has_failed && (job || step)) {
        if (files.size() <= kMaxFilesBytes) {
            handle.set_job_variable(kStageFiles, files);
        } else {
            handle.unset_job_variable(kStageFiles);
        }
        const bool partial = (job && job->state == VerdictState::partial) ||
                             (step && step->state == VerdictState::partial);
        handle.set_job_variable(kJobStatus, partial ? "partial" : "ok");
    }
}

}  // namespace stage

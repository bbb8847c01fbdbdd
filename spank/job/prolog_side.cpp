#include "spank/job/prolog_side.h"

#include "spank/host/daemon_talk.h"
#include "spank/host/names.h"
#include "spank/host/sentence.h"
#include "spank/job/user_mounts.h"

#include <unistd.h>

#include <fstream>

namespace stage {
namespace {

/// Time for the prolog's child to notice its own time-out before it is killed.
constexpr Duration kKillGrace = std::chrono::seconds{5};

}  // namespace

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): as is_to_conclude()
bool PrologSide::is_concerned(const SpankHandle& handle) const {
    const auto specs = handle.variable(kPrologSpecs);
    return specs && *specs != kNothing;
}

bool PrologSide::is_to_conclude(const SpankHandle& handle) const {
    if (is_concerned(handle)) {
        return true;
    }
    const auto job = handle.item(Item::job_id);
    return job && ::access(record_of(*job).c_str(), F_OK) == 0;
}

/// The daemon's record of the job, in the directory of its socket: the job's StageRoot.
std::string PrologSide::record_of(std::uint32_t job_id) const {
    const std::string& socket = arguments_.socket_path;
    return socket.substr(0, socket.rfind('/')) + "/jobs/" + std::to_string(job_id) + ".root";
}

Duration PrologSide::announce_limit() const {
    return kConnectTimeout + read_site(arguments_.conf_path).stage_timeout + kGrace +
           kKillGrace;
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): both limits are members alike
Duration PrologSide::conclude_limit() const {
    return kDetachTime + kConnectTimeout + kAnswerTimeout + kKillGrace;
}

Status PrologSide::announce(const SpankHandle& handle) const {
    const auto job = handle.item(Item::job_id);
    const auto uid = handle.item(Item::uid);
    const auto gid = handle.item(Item::gid);
    if (!job || !uid || !gid) {
        return Error{Blame::internal, "Slurm did not give the prolog the job's user and group"};
    }
    const Site site = read_site(arguments_.conf_path);
    if (*job >= kFirstPseudoJob || site.is_script_first) {
        return {};  // The site's script calls `stagecast prolog`.
    }
    // A stopped daemon would accept a STAGE and block the prolog until StageTimeout; a PING
    // detects that.
    if (const auto alive = ask_(PingRequest{}, kRetryDuringRestart); !alive) {
        return alive.error().within("job " + std::to_string(*job));
    }
    StageRequest request;
    request.key = {.job_id = *job,
                   .step_id = kWholeJob,
                   .restart = number_of(handle.variable("SLURM_JOB_RESTART_COUNT"))};
    request.uid = *uid;
    request.gid = *gid;
    request.node_name = node_name(handle);
    request.node_list = handle.variable("SLURM_NODELIST").value_or("");
    request.work_dir = handle.variable("SLURM_JOB_WORK_DIR").value_or("");
    request.specs = handle.variable(kPrologSpecs).value_or("");
    const auto answer = ask_(bounded(std::move(request)), timeouts_of(site));
    if (!answer) {
        return answer.error().within("job " + std::to_string(*job));
    }
    if (const auto reason = objection(*answer, site.is_script_first)) {
        return Error{Blame::node, one_line(*reason)}.within("job " + std::to_string(*job));
    }
    return {};
}

Status PrologSide::conclude(const SpankHandle& handle) const {
    const auto job = handle.item(Item::job_id);
    if (!job || *job >= kFirstPseudoJob) {
        return {};
    }
    std::string stage_root;
    std::getline(std::ifstream{record_of(*job)}, stage_root);
    const Status detached =
        stage_root.empty() ? Status{} : detach_user_mounts(stage_root, *job);
    const EndRequest request{.job_id = *job, .step_id = kWholeJob};
    const auto answer = ask_(request, kShortTimeout);
    const Status ended = answer ? detached : Status{answer.error()};
    return ended ? ended : Status{ended.error().within("job " + std::to_string(*job))};
}

}  // namespace stage

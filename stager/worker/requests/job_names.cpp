#include "stager/worker/requests/job_names.h"

#include <pwd.h>
#include <unistd.h>

namespace stage {
namespace {

/// The user name of the job: this process runs as the job's user.
std::optional<std::string> user_name() {
    std::vector<char> room(std::size_t{64} << 10U);
    passwd entry{};
    passwd* found = nullptr;
    const bool is_known =
        ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found) == 0 &&
        found != nullptr;
    return is_known ? std::optional<std::string>{entry.pw_name} : std::nullopt;
}

}  // namespace

NameValues names_of(const WorkerSetup& setup) {
    return {.job_id = setup.key.job_id,
            .array_job_id = setup.array_job_id,
            .array_task_id = setup.array_task_id,
            .node = setup.rank.value(),
            .user = user_name};
}

}  // namespace stage

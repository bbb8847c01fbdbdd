#include "stager/daemon/cleaner.h"

#include "stager/files/planted_links.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace stage {
namespace {

void warn_if_failed(const Logger& log, std::uint32_t job_id, const SpawnEvent& event) {
    if (event.kind != SpawnEvent::Kind::started && !event.sentence.empty()) {
        log.warn("a job's files can't be removed; remove them by hand",
                 {{"job", job_id}, {"why", event.sentence}});
    }
}

}  // namespace

void Cleaner::remove(std::uint32_t job_id, std::uint32_t step_id, OnDone on_done) {
    // Whoever holds it last is the end of it.
    const std::shared_ptr<void> done{
        nullptr,
        [&loop = services_.loop, call = std::move(on_done)](auto) { loop.defer(call); }};
    for (const StageKey& key : services_.verdicts.all()) {
        if (key.job_id != job_id || (step_id != kWholeJob && key.step_id != step_id)) {
            continue;
        }
        const auto leavings = services_.verdicts.load_leavings(key);
        if (leavings) {
            remove_leavings(*leavings, done);
        }
        services_.verdicts.forget(key);
    }
    remove_directory(job_id, step_id, done);
}

/// By a child that is the user, so that no name in the path can lead root astray; and in
/// directories that were reached past no planted link, so that none leads the user astray.
void Cleaner::remove_leavings(const Leavings& leavings, const std::shared_ptr<void>& done) {
    std::vector<std::string> arguments{"rm", "-f", "--"};
    std::vector<UniqueFd> directories;
    for (const std::string& path : leavings.paths) {
        const std::size_t slash = path.rfind('/');
        UniqueFd directory = open_past_planted_links(path.substr(0, slash + 1));
        if (!directory) {
            continue;  // It went, or somebody put a link in its way.
        }
        directories.push_back(std::move(directory));
        arguments.push_back(
            "/proc/self/fd/" +
            std::to_string(STDERR_FILENO + static_cast<int>(directories.size())) +
            path.substr(slash));
        if (directories.size() == kSpawnFdsMax) {
            run_rm(leavings, std::exchange(arguments, {"rm", "-f", "--"}), directories, done);
            directories.clear();
        }
    }
    if (!directories.empty()) {
        run_rm(leavings, std::move(arguments), directories, done);
    }
}

void Cleaner::run_rm(const Leavings& leavings,
                     std::vector<std::string> arguments,
                     const std::vector<UniqueFd>& directories,
                     const std::shared_ptr<void>& done) {
    const ProgramRequest program{.path = "/bin/rm",
                                 .arguments = std::move(arguments),
                                 .environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"},
                                 .user = UserIdentity{leavings.uid, leavings.gid, {}},
                                 .umask = 077,
                                 .oom_score_adj = 0,
                                 .group = {}};
    std::vector<int> fds;
    for (const UniqueFd& directory : directories) {
        fds.push_back(directory.get());
    }
    const auto started = services_.children.start(program, fds, [done](const SpawnEvent&) {});
    if (!started) {
        services_.log.warn(
            "temporary files of a job stay; remove them by hand",
            {{"first", leavings.paths.front()}, {"why", started.error().sentence()}});
    }
}

void Cleaner::remove_directory(std::uint32_t job_id,
                               std::uint32_t step_id,
                               const std::shared_ptr<void>& done) {
    const auto root = stage_root_();
    const auto owner = root ? owner_of(*root, job_id) : std::nullopt;
    if (!owner) {
        return;
    }
    const RemoveRequest what{.path = directory_names(job_id, step_id),
                             .user = {.uid = owner->uid, .gid = owner->gid, .name = {}}};
    const auto started = services_.children.remove_tree(
        *root, what, [this, job_id, step_id, done](const SpawnEvent& event) {
            warn_if_failed(services_.log, job_id, event);
            if (event.kind != SpawnEvent::Kind::started && step_id != kWholeJob) {
                remove_empty_job(job_id);
            }
        });
    if (!started) {
        services_.log.warn("a job's directory is not removed",
                           {{"job", job_id}, {"why", started.error().sentence()}});
    }
}

/// A directory that was made for steps alone: nobody will say that the job has ended.
void Cleaner::remove_empty_job(std::uint32_t job_id) {
    const auto keys = services_.verdicts.all();
    const bool has_more = std::any_of(
        keys.begin(), keys.end(), [&](const StageKey& key) { return key.job_id == job_id; });
    const auto root = stage_root_();
    if (root && !has_more) {
        const std::string name = directory_names(job_id, kWholeJob).front();
        static_cast<void>(::unlinkat(*root, name.c_str(), AT_REMOVEDIR));
    }
}

}  // namespace stage

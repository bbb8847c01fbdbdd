#include "stager/daemon/cleaner.h"

#include "stager/spawn/kept_lists.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

void warn_of(const Logger& log, std::uint32_t job_id, const std::string& why) {
    log.warn("a job's files can't be removed; remove them by hand",
             {{"job", job_id}, {"why", why}});
}

/// Of a stage that has inherited before it had a directory the lists tell.
Result<Owner> owner_of_all(int root, const EndingStage& ending) {
    Result<Owner> owner = owner_of(root, ending.job_id);
    if (!owner && is_gone(owner)) {
        const auto of_lists =
            owner_of_kept_lists(root, directory_names(ending.job_id, ending.step_id));
        return of_lists ? Result<Owner>{Owner{.uid = of_lists->uid, .gid = of_lists->gid}}
                        : std::move(owner);
    }
    return owner;
}

}  // namespace

void Cleaner::remove(std::uint32_t job_id, std::uint32_t step_id, OnDone on_done) {
    // Whoever holds it last is the end of it.
    const std::shared_ptr<void> done{
        nullptr,
        [&loop = services_.loop, call = std::move(on_done)](auto) { loop.defer(call); }};
    for (const StageKey& key : services_.verdicts.all()) {
        if (key.job_id == job_id && (step_id == kWholeJob || key.step_id == step_id)) {
            services_.verdicts.forget(key);
        }
    }
    remove_directory(job_id, step_id, done);
}

void Cleaner::remove_directory(std::uint32_t job_id,
                               std::uint32_t step_id,
                               const std::shared_ptr<void>& done) {
    const auto root = roots_.to_remove(job_id);
    const Result<Owner> owner = root ? owner_of_all(*root, {job_id, step_id}) : root.error();
    if (!owner) {
        if (root && !is_gone(owner)) {  // The next sweep tries again.
            warn_of(services_.log, job_id, owner.error().sentence());
        }
        forget_root_if_gone(root, job_id);
        return;
    }
    RemoveRequest what{.path = directory_names(job_id, step_id),
                       .user = {.uid = owner->uid, .gid = owner->gid, .name = {}}};
    find_heirs(services_.verdicts, open_(), *root, {job_id, step_id}, what);
    keep_remove_list(*root, what.path);
    bequeath_kept_lists(*root, what.path, what.heirs);  // Now: one of them may end next.
    const auto started = services_.children.remove_tree(
        *root, what, [this, job_id, step_id, done](const SpawnEvent& event) {
            if (event.kind == SpawnEvent::Kind::started) {
                return;
            }
            if (!event.sentence.empty()) {
                warn_of(services_.log, job_id, event.sentence);
            }
            if (step_id != kWholeJob) {
                remove_empty_job(job_id);
            }
            forget_root_if_gone(roots_.to_remove(job_id), job_id);
        });
    if (!started) {
        services_.log.warn("a job's directory is not removed",
                           {{"job", job_id}, {"why", started.error().sentence()}});
    }
}

/// While there is something left below a StageRoot of before only this tells the next sweep.
void Cleaner::forget_root_if_gone(const Result<int>& root, std::uint32_t job_id) {
    if (root ? is_gone(owner_of(*root, job_id)) : root.error().cause() == ENOENT) {
        services_.verdicts.forget_root(job_id);
    }
}

/// A directory that was made for steps alone: nobody will say that the job has ended.
void Cleaner::remove_empty_job(std::uint32_t job_id) {
    const auto keys = services_.verdicts.all();
    const bool has_more = std::any_of(
        keys.begin(), keys.end(), [&](const StageKey& key) { return key.job_id == job_id; });
    const auto root = roots_.to_remove(job_id);
    if (root && !has_more) {
        const std::string name = directory_names(job_id, kWholeJob).front();
        static_cast<void>(::unlinkat(*root, name.c_str(), AT_REMOVEDIR));
    }
}

}  // namespace stage

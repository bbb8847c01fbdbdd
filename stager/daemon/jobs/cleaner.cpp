#include "stager/daemon/jobs/cleaner.h"

#include "stager/daemon/base/children.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/jobs/verdict_store.h"
#include "stager/spawn/cleanup_lists.h"
#include "transport/base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

namespace stage {
namespace {

/// Between two removals of a row, so that stages that waited for the first can begin.
constexpr Duration kNextAfter = std::chrono::milliseconds{1};

void warn_of(const Logger& log, std::uint32_t job_id, const std::string& why) {
    log.warn("cannot remove a job's files now; retrying for an hour",
             {{"job", job_id}, {"why", why}});
}

}  // namespace

void Cleaner::remove(std::uint32_t job_id, std::uint32_t step_id, OnDone on_done) {
    const std::shared_ptr<void> done{
        nullptr, [&loop = basics_.loop, call = std::move(on_done)](auto) { loop.defer(call); }};
    for (const StageKey& key : verdicts_.all()) {
        if (key.job_id == job_id && (step_id == kWholeJob || key.step_id == step_id)) {
            verdicts_.forget(key);
        }
    }
    left_.erase({job_id, step_id});
    enqueue(job_id, step_id, done);
    go_on();
}

/// The owner of a directory is the user for which root made it, in a directory that only root
/// can change; a list's name contains its owner. Usually that is one user.
void Cleaner::enqueue(std::uint32_t job_id,
                      std::uint32_t step_id,
                      const std::shared_ptr<void>& done) {
    const auto root = roots_.to_remove(job_id);
    const Result<Owner> owner = root ? owner_of(*root, job_id) : root.error();
    if (root && !owner && !is_gone(owner)) {  // The next sweep tries again.
        warn_of(basics_.log, job_id, owner.error().sentence());
    }
    const std::vector<std::string> path = directory_names(job_id, step_id);
    const auto push = [&](Part part, RemoveRequest what) {
        queues_[{what.user.uid, part}].push_back(
            {.job_id = job_id, .step_id = step_id, .what = std::move(what), .done = done});
    };
    std::set<std::uint32_t> users;
    for (const CleanupListName& list :
         root ? cleanup_lists(*root) : std::vector<CleanupListName>{}) {
        if (list.is_of(path) && users.insert(list.uid).second) {
            push(Part::lists,
                 {.path = path,
                  .user = {.uid = list.uid, .gid = list.gid, .name = {}},
                  .has_directory = false});
        }
    }
    if (owner) {
        push(Part::directory,
             {.path = path,
              .user = {.uid = owner->uid, .gid = owner->gid, .name = {}},
              .has_lists = false});
    } else if (users.empty()) {
        forget_root_if_gone(root, job_id);
    }
}

void Cleaner::remove_set_aside() {
    const auto root = roots_.current();
    for (const std::string& name :
         root ? directories_set_aside(*root) : std::vector<std::string>{}) {
        const Result<Owner> owner = owner_of(open_cleanup_directory(*root).get(), name);
        if (owner && owner->uid != 0) {  // As root everything in it would be removed.
            queues_[{owner->uid, Part::directory}].push_back(
                {.what = {.path = {kCleanupDirectory, name},
                          .user = {.uid = owner->uid, .gid = owner->gid, .name = {}},
                          .has_lists = false},
                 .done = nullptr,
                 .is_set_aside = true});
        }
    }
    go_on();
}

/// Begins the removals that wait for no other one.
void Cleaner::go_on() {
    for (auto& [row, queue] : queues_) {
        while (!queue.empty() && !queue.front().is_running) {
            start(row, queue.front());
            if (!queue.front().is_running) {
                queue.pop_front();
            }
        }
    }
    std::erase_if(queues_, [](const auto& one) { return one.second.empty(); });
}

void Cleaner::start(Row row, Removal& removal) {
    const auto root =
        removal.is_set_aside ? roots_.current() : roots_.to_remove(removal.job_id);
    if (!root) {
        return;
    }
    const auto started =
        basics_.children.remove_tree(*root, removal.what, [this, row](const SpawnEvent& event) {
            if (event.kind != SpawnEvent::Kind::started) {
                on_ended(row, event);
            }
        });
    removal.is_running = started.ok();
    if (!started) {
        basics_.log.warn("cannot remove a job's directory",
                         {{"job", removal.job_id}, {"why", started.error().sentence()}});
    }
}

void Cleaner::on_ended(Row row, const SpawnEvent& event) {
    const Removal ended = std::move(queues_.at(row).front());
    queues_.at(row).pop_front();
    basics_.loop.after(kNextAfter, [this] { go_on(); });
    if (ended.is_set_aside) {
        if (event.sentence.empty()) {  // Else the log named it when it was set aside.
            basics_.log.info("removed a directory that was set aside",
                             {{"directory", ended.what.path.back()}, {"uid", row.first}});
        }
        return;
    }
    if (!event.sentence.empty()) {
        warn_of(basics_.log, ended.job_id, event.sentence);
        left_.emplace(ended.job_id, ended.step_id);
    }
    if (ended.step_id != kWholeJob) {
        remove_empty_job(ended.job_id);
    }
    forget_root_if_gone(roots_.to_remove(ended.job_id), ended.job_id);
}

bool Cleaner::is_following_lists(std::uint32_t uid) const {
    const auto queue = queues_.find({uid, Part::lists});
    return queue != queues_.end() && !queue->second.empty() && queue->second.front().is_running;
}

/// If something is left below an earlier StageRoot, only this record leads the next sweep to
/// it.
void Cleaner::forget_root_if_gone(const Result<int>& root, std::uint32_t job_id) {
    const bool is_left = root ? !is_gone(owner_of(*root, job_id)) ||
                                    jobs_with_cleanup_lists(*root).contains(job_id)
                              : root.error().cause() != ENOENT;
    if (!is_left) {
        verdicts_.forget_root(job_id);
    }
}

/// Removes a directory that was made for steps alone: no END for the job will arrive.
void Cleaner::remove_empty_job(std::uint32_t job_id) {
    const auto keys = verdicts_.all();
    const bool has_more = std::any_of(
        keys.begin(), keys.end(), [&](const StageKey& key) { return key.job_id == job_id; });
    const auto root = roots_.to_remove(job_id);
    if (root && !has_more) {
        const std::string name = directory_names(job_id, kWholeJob).front();
        static_cast<void>(::unlinkat(*root, name.c_str(), AT_REMOVEDIR));
    }
}

}  // namespace stage

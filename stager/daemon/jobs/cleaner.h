// Removes the files of jobs and steps that have ended, one removal per user at a time.
//
// At its end a stage's directory is removed, and what the stage staged elsewhere for its time
// only (spawn/remove_tree.h), by a child that acts as the user. Then nothing of it is
// remembered. The removals of one user follow each other: whether a path is still in use is
// read from the user's other cleanup lists, and what hangs, as a FUSE file system may, occupies
// one process, not one per job. The lists come first, by themselves: what waits for them does
// not wait for a large directory.
#pragma once

#include "stager/daemon/base/services.h"
#include "stager/daemon/jobs/job_directory.h"
#include "stager/daemon/jobs/job_roots.h"
#include "stager/spawn/request.h"
#include "stager/spawn/spawner.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace stage {

class Cleaner {
  public:
    using OnDone = std::function<void()>;

    /// Both outlive it.
    Cleaner(Services& services, JobRoots& roots) : services_{services}, roots_{roots} {}

    /// Removes the job's directory (kWholeJob) or the step's, what its cleanup lists name, and
    /// stored verdicts, in the background; `on_done` comes from the loop, whether all went or
    /// not. Requires that no process of the job is at work in it.
    void remove(std::uint32_t job_id, std::uint32_t step_id, OnDone on_done);

    /// Something of it could not be removed the last time.
    [[nodiscard]] bool has_left(std::uint32_t job_id, std::uint32_t step_id) const {
        return left_.contains({job_id, step_id});
    }

    /// A removal that reads this user's cleanup lists is under way: a list that is made now may
    /// be missed.
    [[nodiscard]] bool is_following_lists(std::uint32_t uid) const;

  private:
    struct Removal {
        std::uint32_t job_id = 0;
        std::uint32_t step_id = 0;
        RemoveRequest what;
        std::shared_ptr<void> done;  ///< The last that is dropped calls on_done.
        bool is_running = false;
    };

    void enqueue(std::uint32_t job_id,
                 std::uint32_t step_id,
                 const std::shared_ptr<void>& done);
    void go_on();
    void start(Removal& removal);
    void on_ended(std::uint32_t uid, const SpawnEvent& event);
    void remove_empty_job(std::uint32_t job_id);
    void forget_root_if_gone(const Result<int>& root, std::uint32_t job_id);

    Services& services_;
    JobRoots& roots_;
    std::map<std::uint32_t, std::deque<Removal>> queues_;     ///< By uid; the first is next.
    std::set<std::pair<std::uint32_t, std::uint32_t>> left_;  ///< Job, step.
};

}  // namespace stage

// Removes the files of jobs and steps that have ended, of one user one job's after the other's.
//
// When a stage has ended, a child process that acts as the job's user removes the stage's
// directory, and what the stage placed elsewhere for its duration only (spawn/remove_tree.h).
// Then the daemon keeps nothing of the stage. Two removals of one user run at a time: one works
// off cleanup lists, since whether a path is still in use is read from the user's other lists,
// and one removes a directory. So a file with `temp`, and a stage that waits for a list, never
// wait for a large directory; and a removal that hangs, as on a FUSE file system, occupies a
// process of its user, not one per job.
#pragma once

#include "stager/daemon/base/basics.h"
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

class VerdictStore;

class Cleaner {
  public:
    using OnDone = std::function<void()>;

    /// All three outlive the object.
    Cleaner(const Basics& basics, VerdictStore& verdicts, JobRoots& roots)
        : basics_{basics}, verdicts_{verdicts}, roots_{roots} {}

    /// Removes the directory of the job (kWholeJob) or of the step, what its cleanup lists
    /// name, and its stored verdicts, in the background. The loop calls `on_done`, whether
    /// everything was removed or not. Requires that no process of the job works in the
    /// directory.
    void remove(std::uint32_t job_id, std::uint32_t step_id, OnDone on_done);

    /// Removes what is left of the directories that were set aside because other users'
    /// directories were in them (spawn/cleanup_lists.h), unless some still are. One of root's
    /// stays.
    void remove_set_aside();

    /// Whether the last removal left something behind.
    [[nodiscard]] bool has_left(std::uint32_t job_id, std::uint32_t step_id) const {
        return left_.contains({job_id, step_id});
    }

    /// Whether a removal is running that reads this user's cleanup lists: it may miss a list
    /// that is made now.
    [[nodiscard]] bool is_following_lists(std::uint32_t uid) const;

  private:
    struct Removal {
        std::uint32_t job_id = 0;
        std::uint32_t step_id = 0;
        RemoveRequest what;
        std::shared_ptr<void> done;  ///< Dropping the last reference calls on_done.
        bool is_running = false;
        bool is_set_aside = false;  ///< It is no job's any more.
    };

    enum class Part : std::uint8_t { lists, directory };
    /// A user's removals that run one after the other.
    using Row = std::pair<std::uint32_t, Part>;

    void enqueue(std::uint32_t job_id,
                 std::uint32_t step_id,
                 const std::shared_ptr<void>& done);
    void go_on();
    void start(Row row, Removal& removal);
    void on_ended(Row row, const SpawnEvent& event);
    void remove_empty_job(std::uint32_t job_id);
    void forget_root_if_gone(const Result<int>& root, std::uint32_t job_id);

    const Basics& basics_;
    VerdictStore& verdicts_;
    JobRoots& roots_;
    std::map<Row, std::deque<Removal>> queues_;               ///< The first is next.
    std::set<std::pair<std::uint32_t, std::uint32_t>> left_;  ///< Job, step.
};

}  // namespace stage

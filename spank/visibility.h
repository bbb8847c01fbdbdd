// Will the job's tasks see what was staged for them?
//
// With job_container/tmpfs a job has a /tmp and a /dev/shm of its own: what the prolog's side
// put there lies in the node's, where the job never looks. So slurmstepd, which is outside,
// opens the root directory, and so does the task, which is inside, before a container's plugin
// has changed more. Each staged path must lie in the same directory below both.
#pragma once

#include "stager/control/message.h"
#include "transport/base/unique_fd.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace stage {

class Visibility {
  public:
    /// This process sees what the node sees.
    void is_outside();
    /// This process, forked since, sees what the job sees.
    void is_inside();

    /// Notes the directories of the verdict's paths as they are seen from outside.
    void remember(const Verdict& verdict);

    /// Why one of them is another directory inside, or nothing. What was not there before is
    /// not missed: an earlier step may have removed it.
    [[nodiscard]] std::optional<std::string> objection() const;

  private:
    using Place = std::pair<std::uint64_t, std::uint64_t>;  ///< Device, inode.

    [[nodiscard]] static std::optional<Place> place_of(const std::string& directory,
                                                       const UniqueFd& root);

    UniqueFd outside_;
    UniqueFd inside_;
    std::map<std::string, Place> places_;
};

}  // namespace stage

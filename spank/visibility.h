// Will the job's tasks see what was staged for them?
//
// With job_container/tmpfs a job has a /tmp and a /dev/shm of its own: what the prolog's side
// put there lies in the node's, where the job never looks. So slurmstepd, which is outside,
// notes which directory each staged path lies in, and the task, which is inside, looks whether
// it is still that one.
#pragma once

#include "stager/control/message.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace stage {

class Visibility {
  public:
    /// Notes the directories of the verdict's paths as they are seen from here.
    void remember(const Verdict& verdict);

    /// Why one of them is another directory here, or nothing. What was not there before is not
    /// missed: an earlier step may have removed it.
    [[nodiscard]] std::optional<std::string> objection() const;

  private:
    using Place = std::pair<std::uint64_t, std::uint64_t>;  ///< Device, inode.

    std::map<std::string, Place> places_;
};

}  // namespace stage

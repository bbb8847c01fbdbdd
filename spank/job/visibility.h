// Tells whether the job's tasks will see what was staged for them.
//
// A job may have a /tmp of its own, by job_container/tmpfs or by another SPANK plugin that
// mounts one: what was staged lies in the node's, where the job never looks. So the directories
// that were staged into (Verdict::directories) are looked up twice, in the daemon's mount
// namespace, where they were staged, and in the task's, as late as the plugin can: each must be
// the same directory (device and inode). Neither when nor where the namespaces part makes a
// difference.
#pragma once

#include "stager/control/message.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace stage {

class Visibility {
  public:
    /// `root` is the root directory of whoever staged; that of this process if there is none.
    void is_outside(UniqueFd root);

    /// This process, forked since, sees what the job sees. Of several looks the last counts,
    /// but one from within a container that the task has entered meanwhile: what that hides, it
    /// is told to. False for such a one.
    bool is_inside();

    /// Notes the verdict's directories as they are seen from outside.
    void remember(const Verdict& verdict);

    /// Why one of them is another directory inside, or nothing. What was not there before is
    /// not missed: an earlier step may have removed it.
    [[nodiscard]] std::optional<std::string> objection() const;

  private:
    using Place = std::pair<std::uint64_t, std::uint64_t>;  ///< Device, inode.

    [[nodiscard]] static std::optional<Place> place_of(int fd);
    [[nodiscard]] static std::optional<Place> place_of(const std::string& directory,
                                                       const UniqueFd& root);

    UniqueFd outside_;
    UniqueFd inside_;
    std::optional<Place> users_;  ///< The user namespace of the first look inside.
    std::map<std::string, Place> places_;
};

}  // namespace stage

// Checks whether the job's tasks see the files that were staged for them.
//
// A job may have a /tmp of its own, by job_container/tmpfs or by another SPANK plugin that
// mounts one: the staged files are in the node's /tmp, invisible to the job. The directories
// that were staged into (Verdict::directories) are looked up twice, in the daemon's mount
// namespace, where they were staged, and in the task's, as late as the plugin can: each must be
// the same directory (device and inode). It does not matter when the namespaces were separated.
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
    /// `root` is the root directory of the daemon that staged; that of this process if there is
    /// none.
    void capture_outside(UniqueFd root);

    /// Records this (forked) process's view as the job's. The last call counts, except one from
    /// within a container that the task has entered meanwhile: hiding files there is the user's
    /// choice. Returns false for such a call.
    bool capture_inside();

    /// Records the verdict's directories as they are outside.
    void remember(const Verdict& verdict);

    /// Returns why one of them is another directory inside, or nothing. A directory that is
    /// missing is no error: an earlier step may have removed it.
    [[nodiscard]] std::optional<std::string> objection() const;

  private:
    using Place = std::pair<std::uint64_t, std::uint64_t>;  ///< Device, inode.

    [[nodiscard]] static std::optional<Place> place_of(int fd);
    [[nodiscard]] static std::optional<Place> place_of(const std::string& directory,
                                                       const UniqueFd& root);

    UniqueFd outside_;
    UniqueFd inside_;
    std::optional<Place> users_;  ///< The user namespace of the first view inside.
    std::map<std::string, Place> places_;
};

}  // namespace stage

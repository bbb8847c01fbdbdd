// Manages root's cleanup lists: the files that this node's stages have placed outside their
// directories, or use there.
//
//     StageRoot/.stagecast/UID.GID.JOB           of a job's own stage
//     StageRoot/.stagecast/UID.GID.JOB.step.N    of a step
//
// The directory (0700) and the lists (0600) belong to root: only the daemon makes, extends and
// removes them. A list's owner is in its name, as slurmd gave it; it is never taken from a
// file's owner. The entries (removal/cleanup_entry.h) come from the user's worker, so only a
// process with that user's rights and no others may act on them (removal/removal.h). The
// directory exists while there is a list, or a job's directory that was set aside there:
//
//     StageRoot/.stagecast/left.JOB[.N]          in it is a directory of another user, or its
//                                                number is another user's job's now
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The longest list in bytes: enough for 100,000 files of an `@LIST`. A stage that needs more
/// fails.
inline constexpr std::uint64_t kCleanupListMax = 64ULL << 20U;

struct CleanupListName {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string stage;  ///< "42" or "42.step.3".

    bool operator==(const CleanupListName&) const = default;
    /// Whether it belongs to the stage whose directory is `path` below StageRoot, {"42",
    /// "step.3"}; for a whole job, {"42"}, to the job or one of its steps.
    [[nodiscard]] bool is_of(const std::vector<std::string>& path) const;
    [[nodiscard]] std::uint32_t job_id() const;
};

/// The name of a stage's list; `path` as in is_of().
[[nodiscard]] CleanupListName cleanup_list_name(uid_t uid,
                                                gid_t gid,
                                                const std::vector<std::string>& path);
[[nodiscard]] std::string to_text(const CleanupListName& name);
/// Nothing if `text` is not the name of a list.
[[nodiscard]] std::optional<CleanupListName> parse_cleanup_list_name(std::string_view text);

/// The lists below the open directory StageRoot.
[[nodiscard]] std::vector<CleanupListName> cleanup_lists(int root);
/// Opens one of them for reading and appending; nothing, with errno, if it does not exist.
[[nodiscard]] UniqueFd open_cleanup_list(int root, const CleanupListName& name);
/// To be called when the files that the list names are removed.
void remove_cleanup_list(int root, const CleanupListName& name);
/// All jobs that have lists.
[[nodiscard]] std::set<std::uint32_t> jobs_with_cleanup_lists(int root);

inline constexpr const char* kCleanupDirectory = ".stagecast";
inline constexpr const char* kSetAsidePrefix = "left.";
/// Moves the directory of a job that is over to where no user can reach it; returns its name
/// there.
[[nodiscard]] Result<std::string> set_directory_aside(int root, const std::string& job);
/// The names of the directories that were set aside.
[[nodiscard]] std::vector<std::string> directories_set_aside(int root);

/// Removes the directory of the lists if nothing is in it.
void remove_empty_cleanup_directory(int root);

/// Opens the directory of the lists; makes it if it is missing.
[[nodiscard]] UniqueFd open_cleanup_directory(int root);

/// The list of a running stage.
class CleanupList {
  public:
    /// Opens the list, or makes it. Fails with Blame::node.
    [[nodiscard]] static Result<CleanupList> open(int root, const CleanupListName& name);

    /// Appends `entries`, all or none. Fails with Blame::user if the list would be too long,
    /// and with Blame::node if it can't be written.
    [[nodiscard]] Status add(const std::vector<std::string>& entries);
    /// Appends absolute paths that the stage uses; "/" stands for any path. Fails like add().
    [[nodiscard]] Status add_uses(const std::vector<std::string>& paths);
    /// The list now has all paths that the stage uses: "/" is not valid any more.
    [[nodiscard]] Status end_uses();

  private:
    explicit CleanupList(UniqueFd file) : file_{std::move(file)} {}

    UniqueFd file_;
};

}  // namespace stage

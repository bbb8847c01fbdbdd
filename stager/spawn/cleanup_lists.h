// Root's cleanup lists: what the stages of this node left, or use, outside their directories.
//
//     StageRoot/.stagecast/UID.GID.JOB           of a job's own stage
//     StageRoot/.stagecast/UID.GID.JOB.step.N    of a step
//
// The directory (0700) and the lists (0600) are root's: only the daemon makes, extends and
// removes them. Whose a list is stands in its name, as slurmd told it; it is never read from a
// file's owner. The entries (removal/cleanup_entry.h) are what the user's worker said, so only
// a process with that user's rights and no others may act on them (removal/removal.h). The
// directory is there while a list is.
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

/// A list holds no more than this, bytes: 100,000 files of an `@LIST`, and a stage that leaves
/// more fails.
inline constexpr std::uint64_t kCleanupListMax = 64ULL << 20U;

struct CleanupListName {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string stage;  ///< "42" or "42.step.3".

    bool operator==(const CleanupListName&) const = default;
    /// Whether it is of the stage whose directory is `path` below StageRoot, {"42", "step.3"};
    /// of a whole job, {"42"}, or of one of its steps.
    [[nodiscard]] bool is_of(const std::vector<std::string>& path) const;
    [[nodiscard]] std::uint32_t job_id() const;
};

/// The name of a stage's list; `path` as in is_of().
[[nodiscard]] CleanupListName cleanup_list_name(uid_t uid,
                                                gid_t gid,
                                                const std::vector<std::string>& path);
[[nodiscard]] std::string to_text(const CleanupListName& name);
/// Nothing for what is not the name of a list.
[[nodiscard]] std::optional<CleanupListName> parse_cleanup_list_name(std::string_view text);

/// The lists below the open directory StageRoot.
[[nodiscard]] std::vector<CleanupListName> cleanup_lists(int root);
/// One of them, for reading and appending; nothing, with errno, if it is not there.
[[nodiscard]] UniqueFd open_cleanup_list(int root, const CleanupListName& name);
/// What it named is removed.
void remove_cleanup_list(int root, const CleanupListName& name);
/// Every job that has lists.
[[nodiscard]] std::set<std::uint32_t> jobs_with_cleanup_lists(int root);

/// The directory of the lists, opened; made if it is missing.
[[nodiscard]] UniqueFd open_cleanup_directory(int root);

/// A list that a stage at work extends.
class CleanupList {
  public:
    /// Opens the list, or makes it. Fails with Blame::node.
    [[nodiscard]] static Result<CleanupList> open(int root, const CleanupListName& name);

    /// Appends `entries`, all or none. Fails with Blame::user if the list would be too long,
    /// and with Blame::node if the disk refuses.
    [[nodiscard]] Status add(const std::vector<std::string>& entries);
    /// The same for absolute paths that the stage uses; "/": any.
    [[nodiscard]] Status add_uses(const std::vector<std::string>& paths);
    /// The stage has told all that it uses: "/" holds no more.
    [[nodiscard]] Status end_uses();

  private:
    explicit CleanupList(UniqueFd file) : file_{std::move(file)} {}

    UniqueFd file_;
};

}  // namespace stage

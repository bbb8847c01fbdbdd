#include "stager/removal/made_directories.h"

#include "stager/disk/trusted_path.h"
#include "stager/removal/cleanup_entry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace stage {

Status MadeDirectories::make(int parent, const std::string& name, const std::string& path) {
    if (Status listed = tell_ ? tell_({parent_entry(path)}) : Status{}; !listed) {
        return listed;
    }
    constexpr mode_t kAll = 0777;  // The umask applies.
    if (::mkdirat(parent, name.c_str(), kAll) != 0) {
        const int cause = errno;
        return cause == EEXIST ? Status{} : Status{Error::from_errno(Blame::user, path, cause)};
    }
    const std::lock_guard lock{guard_};
    made_.push_back(path);
    return {};
}

void MadeDirectories::prune() {
    const std::lock_guard lock{guard_};
    while (!made_.empty()) {
        remove_if_empty(made_.back());
        made_.pop_back();
    }
}

}  // namespace stage

#include "spank/job/user_mounts.h"

#include "transport/os/clock.h"
#include "transport/os/root_directory.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>

namespace stage {
namespace {

/// The most mounts that are detached at one job's end. A user can make more, but not at once.
constexpr int kMountsMax = 1024;
/// A mount whose path is renamed all the time is tried so often.
constexpr int kTriesMax = 3;
constexpr const char* kHostPrefix = ".host.";

struct Mount {
    std::string id;
    std::string below;  ///< Where it is, below StageRoot.
};

/// proc(5) writes a space, a tab, a newline and a backslash as "\040" and so on.
std::string unescaped(const std::string& text) {
    constexpr std::size_t kDigits = 3;
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + kDigits < text.size()) {
            out +=
                static_cast<char>(std::strtol(text.substr(i + 1, kDigits).c_str(), nullptr, 8));
            i += kDigits;
        } else {
            out += text[i];
        }
    }
    return out;
}

/// The path as the table of mounts has it, without "//" and the like; empty if there is none.
std::string as_mounted(const std::string& path) {
    std::array<char, PATH_MAX> room{};
    const char* const real = ::realpath(path.c_str(), room.data());
    return real == nullptr ? std::string{} : std::string{real};
}

using Tries = std::map<std::string, int>;  ///< By the mounts' ids.

/// The outermost mount that is to go: on the way to it nothing else is mounted. The job's own
/// come first, and those that were tried before last.
std::optional<Mount> outermost(const std::string& stage_root,
                               const std::string& job,
                               const Tries& tries) {
    std::optional<Mount> found;
    std::tuple<int, bool, std::size_t> best;
    std::ifstream table{"/proc/self/mountinfo"};
    for (std::string line; std::getline(table, line);) {
        std::istringstream fields{line};
        std::string id;
        std::string skipped;
        std::string point;
        fields >> id >> skipped >> skipped >> skipped >> point;
        point = unescaped(point);
        if (!point.starts_with(stage_root + '/')) {
            continue;
        }
        std::string below = point.substr(stage_root.size() + 1);
        const std::string first = below.substr(0, below.find('/'));
        // The mount that was made last covers the others at its place; it stands last.
        const auto tried = tries.find(id);
        const std::tuple order{
            tried == tries.end() ? 0 : tried->second, first != job, below.size()};
        if ((first == job || first.starts_with(kHostPrefix)) &&
            std::get<0>(order) < kTriesMax && (!found || order <= best)) {
            found = Mount{std::move(id), std::move(below)};
            best = order;
        }
    }
    return found;
}

/// The id of the mount that the descriptor is on. (statx(2) would ask the file system.)
std::string mount_of(int fd) {
    std::ifstream facts{"/proc/self/fdinfo/" + std::to_string(fd)};
    for (std::string name, value; facts >> name >> value;) {
        if (name == "mnt_id:") {
            return value;
        }
    }
    return {};
}

/// Returns false, with errno, on failure.
bool detach(int stage_root, const Mount& mount) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const UniqueFd top{static_cast<int>(
        ::syscall(SYS_openat2, stage_root, mount.below.c_str(), &how, sizeof how))};
    if (!top) {
        return false;
    }
    if (mount_of(top.get()) != mount.id) {  // Its path leads elsewhere now.
        errno = EBUSY;
        return false;
    }
    const std::string path = "/proc/self/fd/" + std::to_string(top.get());
    return ::umount2(path.c_str(), MNT_DETACH) == 0;
}

}  // namespace

Status detach_user_mounts(const std::string& path, std::uint32_t job_id) {
    const std::string job = std::to_string(job_id);
    const std::string stage_root = as_mounted(path);
    Tries tries;
    std::optional<Mount> mount =
        stage_root.empty() ? std::nullopt : outermost(stage_root, job, tries);
    if (!mount) {
        return {};
    }
    TRY(const UniqueFd root, open_root_directory("StageRoot", stage_root, false));
    const Instant until = read_clock() + kDetachTime;
    Status all;
    for (int left = kMountsMax; mount && left > 0 && read_clock() < until; --left) {
        if (!detach(root.get(), *mount)) {
            all =
                Error::from_errno(Blame::node, "unmounting " + stage_root + '/' + mount->below);
            ++tries[mount->id];
        }
        mount = outermost(stage_root, job, tries);
    }
    return all;
}

}  // namespace stage

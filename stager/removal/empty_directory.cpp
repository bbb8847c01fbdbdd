#include "stager/removal/empty_directory.h"

#include "transport/os/open_unmounted.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stage {
namespace {

/// The subdirectories of one directory that are remembered at once. It limits memory, not size.
constexpr std::size_t kBatch = 4096;
/// How often a walk begins again because another process moved directories.
constexpr int kAttempts = 3;

struct DirClose {
    void operator()(DIR* dir) const { static_cast<void>(::closedir(dir)); }
};

/// One walk. It holds one descriptor at a time, whatever the depth of the tree.
class Walk {
  public:
    Walk(int top, const std::optional<UidRanges>& only_of) : top_{top}, only_of_{only_of} {}

    /// Returns false if the tree changed during the walk so that another attempt is needed.
    bool run() {
        const auto place = place_of(top_);
        if (!place) {
            note("", errno);
            return true;
        }
        if (is_anothers(*place)) {
            note_owner("", place->owner);
            return true;
        }
        current_.reset(::fcntl(top_, F_DUPFD_CLOEXEC, 3));
        levels_.push_back({.place = *place, .name = {}, .todo = {}});
        open_up(*place);
        while (!levels_.empty()) {
            if (!step()) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  private:
    struct Level {
        DirectoryPlace place;
        std::string name;               ///< In the level above; empty for the top.
        std::vector<std::string> todo;  ///< Subdirectories still to be emptied.
        bool was_read = false;
        bool read_all = false;  ///< All subdirectories that remain are in `todo`.
        std::size_t gone = 0;   ///< Entries removed since the directory was last read.
    };

    /// Reads the directory, or descends, or ascends.
    bool step() {
        Level& level = levels_.back();
        if (!level.todo.empty()) {
            const std::string name = std::move(level.todo.back());
            level.todo.pop_back();
            descend(name);
            return true;
        }
        // Entries beyond a batch are read again, as long as some entries were removed.
        if (!level.read_all && (!level.was_read || level.gone > 0)) {
            read(level);
            return true;
        }
        return go_up();
    }

    void read(Level& level) {
        level.was_read = true;
        level.read_all = true;
        level.gone = 0;
        const std::unique_ptr<DIR, DirClose> dir{
            ::fdopendir(::openat(current_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))};
        if (dir == nullptr) {
            note("", errno);
            return;
        }
        while (const dirent* entry = ::readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe)
            const std::string name = entry->d_name;
            if (name == "." || name == "..") {
                continue;
            }
            if (level.todo.size() >= kBatch) {
                level.read_all = false;
                return;
            }
            remove_entry(level, name);
        }
    }

    void remove_entry(Level& level, const std::string& name) {
        if (::unlinkat(current_.get(), name.c_str(), 0) == 0 ||
            ::unlinkat(current_.get(), name.c_str(), AT_REMOVEDIR) == 0) {
            ++level.gone;
            return;
        }
        // For a file the second call fails with ENOTDIR, and the first says why it stays.
        if (errno == ENOTEMPTY || errno == EEXIST) {
            level.todo.push_back(name);
        } else if (errno != ENOENT) {
            const int cause = errno == ENOTDIR ? unlink_again(name) : errno;
            if (cause != 0) {
                note(name, cause);
            }
        }
    }

    [[nodiscard]] int unlink_again(const std::string& name) const {
        const bool gone = ::unlinkat(current_.get(), name.c_str(), 0) == 0 || errno == ENOENT;
        return gone ? 0 : errno;
    }

    void descend(const std::string& name) {
        UniqueFd fd = open_to_empty(current_.get(), name.c_str());
        const auto place = fd ? place_of(fd.get()) : std::nullopt;
        if (!place) {
            if (errno != ENOENT) {
                note(name, errno);
            }
            return;
        }
        if (!place->same_mount(levels_.back().place)) {
            note(name, EXDEV);
            return;
        }
        if (is_anothers(*place)) {
            note_owner(name, place->owner);
            return;
        }
        current_ = std::move(fd);
        levels_.push_back({.place = *place, .name = name, .todo = {}});
        open_up(*place);
    }

    /// Leaves an empty directory and removes it.
    bool go_up() {
        const std::string name = levels_.back().name;
        if (levels_.size() == 1) {
            levels_.pop_back();
            return true;
        }
        UniqueFd up{::openat(current_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        const auto place = up ? place_of(up.get()) : std::nullopt;
        if (!place || !place->same_directory(levels_[levels_.size() - 2].place)) {
            return false;
        }
        current_ = std::move(up);
        levels_.pop_back();
        Level& level = levels_.back();
        if (::unlinkat(current_.get(), name.c_str(), AT_REMOVEDIR) == 0) {
            ++level.gone;
        } else if (errno != ENOENT) {
            note(name, errno);
        }
        return true;
    }

    void open_up(const DirectoryPlace& place) const {
        constexpr mode_t kAll = S_IRWXU;
        if ((place.mode & kAll) != kAll && place.owner == ::geteuid()) {
            static_cast<void>(::fchmod(current_.get(), kAll));
        }
    }

    [[nodiscard]] bool is_anothers(const DirectoryPlace& place) const {
        return only_of_ && !contains(*only_of_, place.owner);
    }

    [[nodiscard]] std::string path_of(const std::string& name) const {
        constexpr std::size_t kShown = 1024;
        std::string path;
        for (const Level& level : levels_) {
            path += level.name.empty() || path.size() > kShown ? "" : level.name + "/";
        }
        return (path + name).substr(0, kShown);
    }

    void note_owner(const std::string& name, uid_t owner) {
        if (!error_) {
            error_ = Error{Blame::user,
                           path_of(name) + " is a directory of uid " + std::to_string(owner),
                           EPERM};
        }
    }

    void note(const std::string& name, int cause) {
        if (error_) {
            return;
        }
        const std::string path = path_of(name);
        if (cause == EXDEV || cause == EBUSY) {
            error_ = Error{Blame::user, path + " is a mount point; unmount it", cause};
        } else {
            error_ = Error::from_errno(Blame::user, path, cause);
        }
    }

    int top_;
    const std::optional<UidRanges>& only_of_;
    UniqueFd current_;
    std::vector<Level> levels_;  ///< The top first; the last is current_.
    std::optional<Error> error_;
};

}  // namespace

std::optional<DirectoryPlace> place_of(int fd) {
    struct statx status {};
    if (::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &status) != 0) {
        return std::nullopt;
    }
    // Before Linux 5.8 there is no mount id: a bind mount of the same device is not noticed.
    const bool known = (status.stx_mask & STATX_MNT_ID) != 0;
    return DirectoryPlace{
        .device = (std::uint64_t{status.stx_dev_major} << 32U) | status.stx_dev_minor,
        .inode = status.stx_ino,
        .mount = known ? status.stx_mnt_id : 0,
        .owner = status.stx_uid,
        .mode = status.stx_mode};
}

UniqueFd open_to_empty(int parent, const char* name) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
    UniqueFd fd = open_unmounted(parent, name, kFlags);
    if (fd || errno != EACCES) {
        return fd;
    }
    // It may be our own directory with mode 000. O_PATH needs no permission, and /proc leads
    // from the descriptor to this very directory, whatever has its name by now.
    const UniqueFd path = open_unmounted(parent, name, O_PATH | O_DIRECTORY);
    const std::string link = "/proc/self/fd/" + std::to_string(path.get());
    if (!path || ::chmod(link.c_str(), 0700) != 0) {
        errno = EACCES;
        return {};
    }
    return open_unmounted(parent, name, kFlags);
}

Status empty_directory(int top, const std::optional<UidRanges>& only_of) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        Walk walk{top, only_of};
        if (walk.run()) {
            return walk.error() ? Status{*walk.error()} : Status{};
        }
    }
    return Error{Blame::user, "another process is moving directories in it"};
}

Status remove_entry(int directory, const std::string& name) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) {
        return {};
    }
    if (errno != EISDIR && errno != EPERM) {
        return Error::from_errno(Blame::user, name);
    }
    const UniqueFd top = open_to_empty(directory, name.c_str());
    if (!top) {
        return errno == EXDEV ? mount_point(name) : Error::from_errno(Blame::user, name);
    }
    const auto above = place_of(directory);
    const auto here = place_of(top.get());
    if (!above || !here || !above->same_mount(*here)) {
        return mount_point(name);
    }
    const Status emptied = empty_directory(top.get());
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
        return {};
    }
    const Error stays = Error::from_errno(Blame::user, name);
    return emptied ? stays : emptied.error().within(name);
}

}  // namespace stage

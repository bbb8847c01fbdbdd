#include "stager/removal/removal.h"

#include "stager/disk/disk_io.h"
#include "stager/disk/file_names.h"
#include "stager/disk/trusted_path.h"
#include "stager/removal/cleanup_entry.h"
#include "stager/removal/empty_directory.h"
#include "stager/spec/destination.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

namespace stage {
namespace {

/// The limit of each list of a user (spawn/cleanup_lists.h), bytes.
constexpr std::int64_t kListBytesMax = 64LL << 20U;

std::string read_list(int list) {
    struct stat status {};
    if (::fstat(list, &status) != 0 || !S_ISREG(status.st_mode)) {
        return {};
    }
    const std::int64_t size = std::min<std::int64_t>(status.st_size, kListBytesMax);
    std::string text(static_cast<std::size_t>(size), '\0');
    const std::int64_t count =
        read_fully(list, std::as_writable_bytes(std::span{text.data(), text.size()}), 0);
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
}

/// Maps each path in use to the list that contains it.
class Uses {
  public:
    void add_list(int list) {
        bool uses_any = false;
        for (const std::string& text : split_cleanup_list(read_list(list))) {
            const CleanupEntry entry = parse_cleanup_entry(text);
            if (entry.kind == CleanupEntry::Kind::all_listed) {
                uses_any = false;
            } else if (entry.kind == CleanupEntry::Kind::use && entry.path == "/") {
                uses_any = true;
            } else if (entry.kind == CleanupEntry::Kind::use) {
                paths_.emplace(entry.path + '/', list);
            }
        }
        if (uses_any) {
            paths_.emplace("/", list);
        }
    }

    /// The list that has `path`, a path below it, or a directory above it.
    [[nodiscard]] std::optional<int> list_with(const std::string& path) const {
        const std::string below = path + '/';
        const auto next = paths_.lower_bound(below);
        if (next != paths_.end() && next->first.starts_with(below)) {
            return next->second;
        }
        for (std::size_t slash = 0; slash != std::string::npos;
             slash = below.find('/', slash + 1)) {
            const auto above = paths_.find(below.substr(0, slash + 1));
            if (above != paths_.end()) {
                return above->second;
            }
        }
        return std::nullopt;
    }

  private:
    std::map<std::string, int> paths_;  ///< Each key ends in a slash.
};

/// Appends an entry to the list of another stage, completely or not at all; sets errno.
bool pass_on(int list, const std::string& entry) {
    const std::string text = entry + '\0';
    struct stat before {};
    if (::fstat(list, &before) != 0) {
        return false;
    }
    if (before.st_size > kListBytesMax - static_cast<std::int64_t>(text.size())) {
        errno = ENOSPC;
        return false;
    }
    const ssize_t written = ::write(list, text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size())) {
        return true;
    }
    static_cast<void>(!::ftruncate(list, before.st_size));
    return false;
}

/// Removes the directory of a program's libraries if it is empty.
void remove_libraries(const std::string& directory) {
    if (directory.ends_with(kLibrariesSuffix)) {
        remove_if_empty(directory);
    }
}

/// Renames a directory before it is emptied, so that no process finds half of it. Returns the
/// name that it has then; empty: it does not exist.
std::string take_name(int parent, const CleanupEntry& entry, const std::string& name) {
    if (entry.identity.empty()) {  // A temporary name already.
        return name;
    }
    const std::string going = hidden_name(name, ".stagecast.going");
    const bool is_it = file_identity(parent, name) == entry.identity;
    if (is_it &&
        ::renameat2(parent, name.c_str(), parent, going.c_str(), RENAME_NOREPLACE) != 0) {
        return name;
    }
    return file_identity(parent, going) == entry.identity ? going : "";
}

/// Removes what the lists name: first all names, then the content of directories.
class Remover {
  public:
    explicit Remover(const Uses& uses) : uses_{uses} {}

    void take(const std::string& text) {
        const CleanupEntry entry = parse_cleanup_entry(text);
        const std::size_t slash = entry.path.rfind('/');
        if (entry.kind != CleanupEntry::Kind::remove || !entry.path.starts_with('/') ||
            !is_plain_name(entry.path.substr(slash + 1))) {
            return;
        }
        if (entry.is_parent) {
            parents_.push_back(entry.path);
            return;
        }
        const std::string name = entry.path.substr(slash + 1);
        UniqueFd parent = open_trusted_path(entry.path.substr(0, slash + 1));
        if (!parent && errno != ENOTDIR && errno != ELOOP) {
            note(entry.path, errno);  // A missing file is no failure.
        }
        const std::string there = parent ? file_identity(parent.get(), name) : "";
        const bool is_it =
            !there.empty() && (entry.identity.empty() || there == entry.identity);
        const std::optional<int> list = uses_.list_with(entry.path);
        if (list) {
            if (is_it && pass_on(*list, text)) {
                ++removed_.passed_on;
            } else if (is_it) {
                note(entry.path, errno);
            }
            return;
        }
        if (parent && entry.is_directory) {
            take_directory(std::move(parent), entry, name);
        } else if (is_it && ::unlinkat(parent.get(), name.c_str(), 0) == 0) {
            ++removed_.count;
        } else if (is_it) {
            note(entry.path, errno);
        }
        if (entry.is_library) {
            remove_libraries(entry.path.substr(0, slash));  // (It may never have been made.)
        }
    }
    /// Removes the empty directories, the inner ones first.
    Removed finish() {
        empty();
        for (auto path = parents_.rbegin(); path != parents_.rend(); ++path) {
            const std::optional<int> list = uses_.list_with(*path);
            if (list && pass_on(*list, parent_entry(*path))) {
                ++removed_.passed_on;
            } else if (!list) {
                remove_if_empty(*path);
            }
        }
        return removed_;
    }

  private:
    void take_directory(UniqueFd parent, const CleanupEntry& entry, const std::string& name) {
        const std::string going = take_name(parent.get(), entry, name);
        struct stat there {};
        if (going.empty() ||
            ::fstatat(parent.get(), going.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(there.st_mode)) {
            return;
        }
        directories_.push_back({std::move(parent), going, entry.path});
        if (directories_.size() == kDirectoriesMax) {
            empty();
        }
    }
    void empty() {
        for (const Going& one : std::exchange(directories_, {})) {
            if (const Status gone = remove_entry(one.parent.get(), one.name); gone) {
                ++removed_.count;
            } else {
                note(one.path, gone.error().cause(), gone.error().sentence());
            }
        }
    }

    /// Records the first failure of each kind.
    void note(const std::string& path, int cause, const std::string& why = "") {
        constexpr std::array kMayPass{EBUSY, EXDEV, EROFS, EIO, ENOSPC, EDQUOT, ENOTEMPTY};
        if (cause == ENOENT || cause == EISDIR) {  // It is gone, or is not the staged file.
            return;
        }
        const bool may_pass = std::ranges::find(kMayPass, cause) != kMayPass.end();
        std::string& reason = may_pass ? removed_.why_kept : removed_.why_stays;
        if (reason.empty()) {
            reason =
                path + ": " +
                (why.empty() ? Error::from_errno(Blame::user, "removing it", cause).sentence()
                             : why);
        }
    }

    static constexpr std::size_t kDirectoriesMax = 512;  ///< Open at the same time.
    struct Going {
        UniqueFd parent;
        std::string name;  ///< The name that it has now.
        std::string path;  ///< The path that it had.
    };

    const Uses& uses_;
    std::vector<Going> directories_;
    std::vector<std::string> parents_;  ///< In the order of making.
    Removed removed_;
};

}  // namespace

Removed follow_cleanup_lists(const std::vector<UniqueFd>& own,
                             const std::vector<UniqueFd>& others) {
    Uses uses;
    for (const UniqueFd& list : others) {
        uses.add_list(list.get());
    }
    Remover remover{uses};
    for (const UniqueFd& list : own) {
        for (const std::string& entry : split_cleanup_list(read_list(list.get()))) {
            remover.take(entry);
        }
    }
    return remover.finish();
}

}  // namespace stage

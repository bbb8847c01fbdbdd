#include "stager/files/removal.h"

#include "stager/control/destination.h"
#include "stager/files/disk_io.h"
#include "stager/files/empty_directory.h"
#include "stager/files/manifest.h"
#include "stager/files/planted_links.h"
#include "stager/files/stage_lists.h"
#include "stager/files/target.h"
#include "transport/base/codec.h"
#include "transport/base/names_in.h"
#include "transport/base/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace stage {
namespace {

/// What a job's specs can amount to, and far more.
constexpr std::int64_t kMaxListBytes = 16LL << 20U;
constexpr int kPlaceHere = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

UniqueFd open_list(int directory) {
    const UniqueFd lists{::openat(directory, kListDirectory, kPlaceHere)};
    return UniqueFd{
        ::openat(lists.get(), kRemoveList, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
}

std::string read_list(int list) {
    struct stat status {};
    if (::fstat(list, &status) != 0 || !S_ISREG(status.st_mode)) {
        return {};
    }
    const std::int64_t size = std::min<std::int64_t>(status.st_size, kMaxListBytes);
    std::string text(static_cast<std::size_t>(size), '\0');
    const std::int64_t count =
        read_fully(list, std::as_writable_bytes(std::span{text.data(), text.size()}), 0);
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
}

/// In front of an entry: "L12.34:/path", "L:/path".
constexpr char kLibraryMark = 'L';

/// Unless something else is in it.
void remove_libraries(const std::string& directory) {
    const std::size_t slash = directory.rfind('/');
    if (slash == std::string::npos || !directory.ends_with(kLibrariesSuffix)) {
        return;
    }
    const UniqueFd parent = open_past_planted_links(directory.substr(0, slash + 1));
    if (parent) {
        static_cast<void>(
            ::unlinkat(parent.get(), directory.substr(slash + 1).c_str(), AT_REMOVEDIR));
    }
}

/// Which file has the name, for as long as its file system lives; empty: none, or it can't be
/// told. Without a name: which one is open as `at`.
std::string identity_at(int at, const std::string& name) {
    struct statx facts {};
    constexpr unsigned kWanted = STATX_INO | STATX_BTIME;
    const int flags = AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0);
    if (::statx(at, name.c_str(), flags, kWanted, &facts) != 0) {
        return {};
    }
    // Numbers of files are given anew: where their birth is known, that tells them apart.
    const bool has_birth = (facts.stx_mask & STATX_BTIME) != 0;
    return std::to_string(facts.stx_ino) + '.' +
           (has_birth ? std::to_string(facts.stx_btime.tv_sec) + '.' +
                            std::to_string(facts.stx_btime.tv_nsec)
                      : "0");
}

struct Removal {
    std::string identity;  ///< Empty: whatever has the name.
    std::string path;
    bool is_directory = false;
    bool is_library = false;
};

Removal removal_in(const std::string& entry) {
    const std::size_t slash = std::min(entry.find('/'), entry.size());
    const bool has_identity = slash > 0 && entry[slash - 1] == ':';
    Removal removal{.identity = has_identity ? entry.substr(0, slash - 1) : "",
                    .path = has_identity ? entry.substr(slash) : entry,
                    .is_directory = entry.ends_with('/'),
                    .is_library = entry.starts_with(kLibraryMark)};
    if (removal.is_library && has_identity) {
        removal.identity.erase(0, 1);
    }
    if (removal.is_directory) {
        removal.path.pop_back();
    }
    return removal;
}

/// What is used, to be asked for often.
class Used {
  public:
    explicit Used(const UsedPaths& paths) {
        for (const std::string& path : paths) {
            const bool is_marked = path.ends_with('/');
            paths_.insert(is_marked ? path : path + '/');
        }
    }
    /// `path`, something in it, or what it lies in.
    [[nodiscard]] bool has(const std::string& path) const {
        const std::string below = path + '/';
        const auto next = paths_.lower_bound(below);
        if (next != paths_.end() && next->starts_with(below)) {
            return true;
        }
        for (std::size_t slash = 0; slash != std::string::npos;
             slash = below.find('/', slash + 1)) {
            if (paths_.contains(below.substr(0, slash + 1))) {
                return true;
            }
        }
        return false;
    }

  private:
    std::set<std::string> paths_;  ///< Each with a slash at its end.
};

/// Whoever finds a directory finds all of it: it loses its name first. Gives the other.
std::string take_name(int parent, const Removal& removal, const std::string& name) {
    if (removal.identity.empty()) {  // Has no name that anybody would look for.
        return name;
    }
    const std::string going = hidden_name(name, ".stagecast.going");
    const bool is_it = identity_at(parent, name) == removal.identity;
    if (is_it &&
        ::renameat2(parent, name.c_str(), parent, going.c_str(), RENAME_NOREPLACE) != 0) {
        return name;
    }
    return identity_at(parent, going) == removal.identity ? going : "";
}

/// What a list names: first all names go, then what takes its time.
class Remover {
  public:
    explicit Remover(const UsedPaths& used) : used_{used} {}

    /// A file, or, where the name ends in a slash, a directory with all that is in it.
    void take(const std::string& entry) {
        const Removal removal = removal_in(entry);
        const std::size_t slash = removal.path.rfind('/');
        if (!removal.path.starts_with('/') || !is_plain_name(removal.path.substr(slash + 1))) {
            return;
        }
        const std::string name = removal.path.substr(slash + 1);
        UniqueFd parent = open_past_planted_links(removal.path.substr(0, slash + 1));
        const std::string there = parent ? identity_at(parent.get(), name) : "";
        const bool is_it =
            !there.empty() && (removal.identity.empty() || there == removal.identity);
        const bool is_used = used_.has(removal.path);
        if (is_it && is_used) {
            ++removed_.withheld;
        } else if (parent && removal.is_directory) {
            take_directory(std::move(parent), removal, name);
        } else if (is_it) {
            removed_.count += ::unlinkat(parent.get(), name.c_str(), 0) == 0 ? 1U : 0U;
        }
        if (removal.is_library && !is_used) {
            remove_libraries(removal.path.substr(0, slash));  // (Perhaps it never came.)
        }
    }
    Removed finish() {
        empty();
        return removed_;
    }

  private:
    void take_directory(UniqueFd parent, const Removal& removal, const std::string& name) {
        const std::string going = take_name(parent.get(), removal, name);
        struct stat there {};
        if (going.empty() ||
            ::fstatat(parent.get(), going.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(there.st_mode)) {
            return;
        }
        directories_.emplace_back(std::move(parent), going);
        if (directories_.size() == kDirectoriesMax) {
            empty();
        }
    }
    void empty() {
        for (const auto& [parent, name] : std::exchange(directories_, {})) {
            removed_.count += remove_entry(parent.get(), name).ok() ? 1U : 0U;
        }
    }

    static constexpr std::size_t kDirectoriesMax = 512;  ///< Open at once.

    Used used_;
    std::vector<std::pair<UniqueFd, std::string>> directories_;
    Removed removed_;
};

/// "step.3": what a step staged for itself has lists of its own.
std::vector<std::string> step_directories(int directory) {
    std::vector<std::string> names = names_in(directory);
    std::erase_if(names,
                  [](const std::string& name) { return !name.starts_with(kStepPrefix); });
    return names;
}

}  // namespace

std::string removal_of(const std::string& path, int own) {
    const std::string identity = identity_at(own, "");
    return identity.empty() ? path : identity + ':' + path;
}

std::string library_removal(const std::string& entry) {
    return std::string{kLibraryMark} + (entry.starts_with('/') ? ":" : "") + entry;
}

Removed remove_by_list(int list, const UsedPaths& used) {
    const std::string text = read_list(list);
    Remover remover{used};
    // What no NUL ends is the beginning of a name, and may be another's.
    for (std::size_t at = 0, end = text.find('\0'); end != std::string::npos;
         at = end + 1, end = text.find('\0', at)) {
        remover.take(text.substr(at, end - at));
    }
    return remover.finish();
}

Removed remove_listed(int directory, const UsedPaths& used) {
    Removed removed = remove_by_list(open_list(directory).get(), used);
    for (const std::string& name : step_directories(directory)) {
        const UniqueFd step{::openat(directory, name.c_str(), kPlaceHere)};
        const Removed of_step = remove_by_list(open_list(step.get()).get(), used);
        removed.count += of_step.count;
        removed.withheld += of_step.withheld;
    }
    return removed;
}

}  // namespace stage

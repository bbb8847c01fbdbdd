#include "stager/files/stage_lists.h"

#include "stager/control/destination.h"
#include "stager/files/disk_error.h"
#include "stager/files/disk_io.h"
#include "stager/files/empty_directory.h"
#include "stager/files/manifest.h"
#include "stager/files/planted_links.h"
#include "stager/files/target.h"
#include "transport/base/codec.h"
#include "transport/base/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

namespace stage {
namespace {

/// What a job's specs can amount to, and far more.
constexpr std::int64_t kMaxListBytes = 16LL << 20U;
constexpr int kPlaceHere = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<UniqueFd> open_list_directory(const std::string& directory) {
    // A step's directory is made by whoever comes first.
    static_cast<void>(::mkdir(directory.c_str(), 0700));
    const UniqueFd parent{::open(directory.c_str(), kPlaceHere)};
    if (!parent) {
        return target_error(directory, errno);
    }
    if (::mkdirat(parent.get(), kListDirectory, 0700) != 0 && errno != EEXIST) {
        return target_error(directory, errno);
    }
    UniqueFd lists{::openat(parent.get(), kListDirectory, kPlaceHere)};
    if (!lists) {
        return target_error(directory + '/' + kListDirectory, errno);
    }
    return lists;
}

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

/// A directory of libraries is the stage's, and goes with the last of them.
void remove_if_libraries(const std::string& directory) {
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
};

Removal removal_in(const std::string& entry) {
    const std::size_t slash = std::min(entry.find('/'), entry.size());
    const bool has_identity = slash > 0 && entry[slash - 1] == ':';
    Removal removal{.identity = has_identity ? entry.substr(0, slash - 1) : "",
                    .path = has_identity ? entry.substr(slash) : entry,
                    .is_directory = entry.ends_with('/')};
    if (removal.is_directory) {
        removal.path.pop_back();
    }
    return removal;
}

bool is_in(std::string_view path, std::string_view directory) {
    if (directory.ends_with('/')) {
        directory.remove_suffix(1);
    }
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/');
}

/// Or something in it, or what it lies in.
bool is_used(const std::string& path, const UsedPaths& used) {
    return std::ranges::any_of(
        used, [&](const std::string& one) { return is_in(path, one) || is_in(one, path); });
}

/// Whoever finds a directory finds all of it: it loses its name first.
bool remove_directory(int parent, const std::string& name, const std::string& identity) {
    struct stat there {};
    if (identity.empty()) {  // Has no name that anybody would look for.
        return ::fstatat(parent, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISDIR(there.st_mode) && remove_entry(parent, name).ok();
    }
    const std::string going = hidden_name(name, ".stagecast.going");
    if (identity_at(parent, name) == identity &&
        ::renameat2(parent, name.c_str(), parent, going.c_str(), RENAME_NOREPLACE) != 0) {
        return remove_entry(parent, name).ok();
    }
    return identity_at(parent, going) == identity && remove_entry(parent, going).ok();
}

/// A file, or, where the name ends in a slash, a directory with all that is in it.
void remove_one(const std::string& entry, const UsedPaths& used, Removed& removed) {
    const auto [identity, path, is_directory] = removal_in(entry);
    const std::size_t slash = path.rfind('/');
    if (!path.starts_with('/') || !is_plain_name(path.substr(slash + 1))) {
        return;
    }
    const std::string name = path.substr(slash + 1);
    const UniqueFd parent = open_past_planted_links(path.substr(0, slash + 1));
    const std::string there = parent ? identity_at(parent.get(), name) : "";
    const bool is_it = !there.empty() && (identity.empty() || there == identity);
    if (is_it && is_used(path, used)) {
        ++removed.withheld;
    } else if (parent && is_directory) {
        removed.count += remove_directory(parent.get(), name, identity) ? 1U : 0U;
    } else if (is_it) {
        removed.count += ::unlinkat(parent.get(), name.c_str(), 0) == 0 ? 1U : 0U;
    }
    if (parent && !is_directory && !is_used(path, used)) {
        remove_if_libraries(path.substr(0, slash));  // (Perhaps it never came.)
    }
}

struct CloseDirectory {
    void operator()(DIR* directory) const { static_cast<void>(::closedir(directory)); }
};

/// "step.3": what a step staged for itself has lists of its own.
std::vector<std::string> step_directories(int directory) {
    std::vector<std::string> names;
    UniqueFd fd{::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const std::unique_ptr<DIR, CloseDirectory> list{fd ? ::fdopendir(fd.get()) : nullptr};
    if (!list) {
        return names;
    }
    static_cast<void>(fd.release());                       // The DIR closes it now.
    while (const dirent* entry = ::readdir(list.get())) {  // NOLINT(concurrency-mt-unsafe)
        const std::string name{entry->d_name};
        if (name.starts_with(kStepPrefix)) {
            names.push_back(name);
        }
    }
    return names;
}

}  // namespace

Status write_stage_list(const std::string& directory,
                        const std::string& list,
                        const std::vector<std::string>& paths) {
    const Result<UniqueFd> lists = open_list_directory(directory);
    if (!lists) {
        return lists.error();
    }
    const std::string path = directory + '/' + kListDirectory + '/' + list;
    if (paths.empty()) {
        const bool is_gone = ::unlinkat(lists->get(), list.c_str(), 0) == 0 || errno == ENOENT;
        return is_gone ? Status{} : Status{target_error(path, errno)};
    }
    std::string text;
    for (const std::string& one : paths) {
        text.append(one).push_back('\0');
    }
    const std::string next = list + ".new";
    static_cast<void>(::unlinkat(lists->get(), next.c_str(), 0));
    const UniqueFd file{::openat(lists->get(),
                                 next.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 0600)};
    if (!file || !write_fully(file.get(), as_bytes(text), 0) ||
        ::renameat(lists->get(), next.c_str(), lists->get(), list.c_str()) != 0) {
        return target_error(path, errno);
    }
    return {};
}

Status add_to_stage_list(const std::string& directory,
                         const std::string& list,
                         const std::string& path) {
    const Result<UniqueFd> lists = open_list_directory(directory);
    if (!lists) {
        return lists.error();
    }
    const UniqueFd file{::openat(lists->get(),
                                 list.c_str(),
                                 O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                                 0600)};
    struct stat status {};
    const std::string text = path + '\0';
    const bool is_there = file && ::fstat(file.get(), &status) == 0;
    if (is_there &&
        write_fully(file.get(), as_bytes(text), static_cast<std::uint64_t>(status.st_size))) {
        return {};
    }
    const int cause = errno;
    if (is_there) {
        static_cast<void>(!::ftruncate(file.get(), status.st_size));
    }
    return target_error(directory + '/' + kListDirectory + '/' + list, cause);
}

std::string removal_of(const std::string& path, int own) {
    const std::string identity = identity_at(own, "");
    return identity.empty() ? path : identity + ':' + path;
}

std::vector<std::string> read_stage_list(int list) {
    const std::string text = read_list(list);
    std::vector<std::string> entries;
    // What no NUL ends is the beginning of a name, and may be another's.
    for (std::size_t at = 0, end = text.find('\0'); end != std::string::npos;
         at = end + 1, end = text.find('\0', at)) {
        entries.push_back(text.substr(at, end - at));
    }
    return entries;
}

Removed remove_by_list(int list, const UsedPaths& used) {
    Removed removed;
    for (const std::string& entry : read_stage_list(list)) {
        remove_one(entry, used, removed);
    }
    return removed;
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

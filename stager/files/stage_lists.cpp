#include "stager/files/stage_lists.h"

#include "stager/control/destination.h"
#include "stager/files/disk_error.h"
#include "stager/files/disk_io.h"
#include "stager/files/empty_directory.h"
#include "stager/files/manifest.h"
#include "stager/files/planted_links.h"
#include "transport/base/codec.h"
#include "transport/base/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

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

std::size_t remove_by_lists(int directory, const UsedPaths& used) {
    const UniqueFd lists{::openat(directory, kListDirectory, kPlaceHere)};
    std::size_t count = 0;
    for (const char* name : {kRemoveList, kUndoneList}) {
        const UniqueFd list{
            ::openat(lists.get(), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
        count += remove_by_list(list.get(), used);
    }
    return count;
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
/// told.
std::string identity_at(int directory, const std::string& name) {
    struct statx facts {};
    constexpr unsigned kWanted = STATX_INO | STATX_BTIME;
    if (::statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW, kWanted, &facts) != 0) {
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

bool is_used(const std::string& path, const UsedPaths& used) {
    return std::ranges::any_of(used, [&](const std::string& one) {
        return one == path || (one.ends_with('/') && path.starts_with(one));
    });
}

/// A file, or, where the name ends in a slash, a directory with all that is in it.
bool remove_one(const std::string& entry, const UsedPaths& used) {
    const auto [identity, path, is_directory] = removal_in(entry);
    const std::size_t slash = path.rfind('/');
    if (!path.starts_with('/') || !is_plain_name(path.substr(slash + 1)) ||
        is_used(path, used)) {
        return false;
    }
    const std::string name = path.substr(slash + 1);
    const UniqueFd parent = open_past_planted_links(path.substr(0, slash + 1));
    if (!parent || (!identity.empty() && identity_at(parent.get(), name) != identity)) {
        return false;
    }
    if (!is_directory) {
        const bool is_removed = ::unlinkat(parent.get(), name.c_str(), 0) == 0;
        remove_if_libraries(path.substr(0, slash));  // (Perhaps it never came.)
        return is_removed;
    }
    struct stat there {};
    return ::fstatat(parent.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(there.st_mode) && remove_entry(parent.get(), name).ok();
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

std::string removal_of(const std::string& path) {
    const std::string identity =
        identity_at(AT_FDCWD, path.substr(0, path.size() - (path.ends_with('/') ? 1 : 0)));
    return identity.empty() ? path : identity + ':' + path;
}

std::size_t remove_by_list(int list, const UsedPaths& used) {
    const std::string text = read_list(list);
    std::size_t count = 0;
    // What no NUL ends is the beginning of a name, and may be another's.
    for (std::size_t at = 0, end = text.find('\0'); end != std::string::npos;
         at = end + 1, end = text.find('\0', at)) {
        count += remove_one(text.substr(at, end - at), used) ? 1U : 0U;
    }
    return count;
}

std::size_t remove_listed(int directory, const UsedPaths& used) {
    std::size_t count = remove_by_lists(directory, used);
    for (const std::string& name : step_directories(directory)) {
        const UniqueFd step{::openat(directory, name.c_str(), kPlaceHere)};
        count += step ? remove_by_lists(step.get(), used) : 0;
    }
    return count;
}

}  // namespace stage

#include "stager/files/tree/tree_place.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/file_names.h"
#include "stager/disk/foreign_entry.h"
#include "stager/files/manifest/attributes.h"
#include "stager/files/source/tree_walk.h"
#include "stager/removal/empty_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace stage {
namespace {

constexpr int kRead = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// A mount point can't be replaced, which otherwise would fail only at the end.
bool is_mount_point(int directory, const std::string& name) {
    struct statx there {};
    constexpr int kHow = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
    return ::statx(directory, name.c_str(), kHow, STATX_TYPE, &there) == 0 &&
           (there.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

}  // namespace

Result<std::unique_ptr<TreePlace>> TreePlace::decide(TargetOrder order,
                                                     const FileTime& mtime,
                                                     Writer writer) {
    TRY(auto directory, open_target_directory(order.place));
    auto place = std::make_unique<TreePlace>(
        std::move(order), mtime, std::move(writer), std::move(directory));
    TRY(place->look());
    return place;
}

TreePlace::TreePlace(TargetOrder order,
                     const FileTime& mtime,
                     Writer writer,
                     TargetDirectory at)
    : order_{std::move(order)},
      mtime_{mtime},
      writer_{std::move(writer)},
      directory_{std::move(at)},
      name_{order_.place.name()},
      temporary_{free_name(directory_.fd.get(),
                           temporary_name(directory_, name_, writer_, writer_.rank))} {
}

TreePlace::~TreePlace() {
    if (has_temporary_) {
        static_cast<void>(remove_entry(directory_.fd.get(), temporary_));
    }
}

std::string TreePlace::temporary_path() const {
    const std::string path = order_.place.path();
    return path.substr(0, path.size() - name_.size()) + temporary_;
}

Status TreePlace::look() {
    struct stat there {};
    if (::fstatat(directory_.fd.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? Status{} : Status{failed(errno)};
    }
    return look_at(there);
}

/// Examines the existing entry of that name, and applies the user's flags.
Status TreePlace::look_at(const struct stat& there) {
    if (Status counts = check_counts(there); !counts) {
        return counts;
    }
    const FileIdentity own = identity_of(there);
    is_left_ = (order_.source && *order_.source == own) || order_.existing == Existing::keep;
    if (is_left_) {
        return check_kept(directory_.fd.get(), name_, path(), S_IFDIR);
    }
    if (order_.existing == Existing::refuse) {
        return exists();
    }
    if (std::ranges::find(order_.above_source, own) != order_.above_source.end()) {
        return Error{Blame::user, path() + ": the source lies in it, and would be replaced"}
            .remedy("choose another destination");
    }
    if (order_.existing == Existing::newer) {
        TRY(const auto newest, newest_of(there));
        is_left_ = is_no_older(newest, mtime_);
    }
    if (is_left_) {
        return check_kept(directory_.fd.get(), name_, path(), S_IFDIR);
    }
    const bool is_in_the_way = is_mount_point(directory_.fd.get(), name_);
    return is_in_the_way ? Status{failed(EBUSY)} : Status{};
}

/// A tree to be replaced, or the source itself, may be world-writable.
Status TreePlace::check_counts(const struct stat& there) const {
    const bool is_source = order_.source && *order_.source == identity_of(there);
    const bool is_replaced = order_.existing == Existing::overwrite;
    return refuse_foreign_entry(
        directory_.fd.get(),
        there,
        path(),
        {.is_writable = is_source || is_replaced, .has_names = is_source || is_replaced});
}

/// A tree's time is that of its newest member.
Result<FileTime> TreePlace::newest_of(const struct stat& there) const {
    if (!S_ISDIR(there.st_mode)) {
        return mtime_of(there);
    }
    const UniqueFd top{::openat(directory_.fd.get(), name_.c_str(), kRead)};
    struct stat now {};
    if (!top || ::fstat(top.get(), &now) != 0) {
        return failed(errno);
    }
    TRY(check_counts(now));
    TRY(auto tree, walk_tree(top, path(), {.skips_devices = true}));
    return tree.newest;
}

Status TreePlace::begin() {
    if (is_left_) {
        return {};
    }
    if (Status made = make_temporary(); !made) {
        return made;
    }
    return check_alone(directory_, top_.get(), name_, writer_, path());
}

Status TreePlace::make_temporary() {
    const int at = directory_.fd.get();
    for (int attempt = 0; attempt < 2 && !has_temporary_; ++attempt) {
        has_temporary_ = ::mkdirat(at, temporary_.c_str(), 0700) == 0;
        if (!has_temporary_ && errno != EEXIST) {
            return failed(errno);
        }
        if (!has_temporary_ && !remove_leftover()) {
            break;
        }
    }
    if (!has_temporary_) {
        return Error{Blame::user, temporary_path() + ": is in the way"}.remedy(
            "remove it, unless another stage of this job is at work there");
    }
    top_.reset(::openat(at, temporary_.c_str(), kRead));
    struct stat made {};
    if (!top_ || ::fstat(top_.get(), &made) != 0) {
        return failed(errno);
    }
    if (Status ours = refuse_foreign_entry(at, made, temporary_path()); !ours) {
        return ours;
    }
    // Without working locks a leftover can't be distinguished from a neighbour's directory.
    static_cast<void>(::flock(top_.get(), LOCK_EX | LOCK_NB));
    clear_inherited_acl(top_.get());
    static_cast<void>(::fchmod(top_.get(), 0700));
    return {};
}

/// A directory left by an earlier run of this job (a killed worker) is unlocked.
bool TreePlace::remove_leftover() const {
    const int at = directory_.fd.get();
    const UniqueFd old{::openat(
        at, temporary_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    struct stat status {};
    return old && ::fstat(old.get(), &status) == 0 && status.st_uid == ::geteuid() &&
           ::flock(old.get(), LOCK_EX | LOCK_NB) == 0 && remove_entry(at, temporary_).ok();
}

/// `durable`: syncs all of a tree's files by one call.
Status TreePlace::sync() const {
    return !order_.is_durable || ::syncfs(top_.get()) == 0 ? Status{} : Status{failed(errno)};
}

Status TreePlace::appear() {
    const int at = directory_.fd.get();
    if (is_left_) {
        return still_there();
    }
    int cause = 0;
    if (::renameat2(at, temporary_.c_str(), at, name_.c_str(), RENAME_NOREPLACE) != 0) {
        cause = errno;
    }
    if (cause == EINVAL ||
        cause == ENOSYS) {  // FUSE: rename(2) replaces empty directories only.
        cause = ::renameat(at, temporary_.c_str(), at, name_.c_str()) == 0 ? 0 : errno;
    }
    if (cause == EEXIST || cause == ENOTEMPTY || cause == ENOTDIR) {
        if (Status replaced = replace(); !replaced || is_left_) {
            return replaced;
        }
    } else if (cause != 0) {
        return failed(cause);
    }
    has_temporary_ = false;
    return sync();
}

Status TreePlace::still_there() const {
    struct stat there {};
    const bool is_there =
        ::fstatat(directory_.fd.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    Status counts = is_there ? check_counts(there) : Status{was_taken_away(path())};
    return counts && is_left_ ? check_kept(directory_.fd.get(), name_, path(), S_IFDIR)
                              : std::move(counts);
}

/// Handles an existing entry of that name, also one that was made meanwhile.
Status TreePlace::replace() {
    if (Status counts = still_there(); !counts) {
        return counts;
    }
    if (order_.existing == Existing::refuse) {
        return exists();
    }
    const int at = directory_.fd.get();
    if (order_.existing == Existing::keep) {
        is_left_ = true;
        has_temporary_ = false;
        const Status kept = check_kept(at, name_, path(), S_IFDIR);
        const Status removed = remove_entry(at, temporary_);
        return kept ? removed : kept;
    }
    if (::renameat2(at, temporary_.c_str(), at, name_.c_str(), RENAME_EXCHANGE) == 0) {
        // The old tree has the temporary name now.
        has_temporary_ = false;
        const Status removed = remove_entry(at, temporary_);
        return removed ? removed
                       : removed.error().within(path() + ": was replaced, but not removed");
    }
    // FUSE knows no exchange, and overlayfs (EXDEV) none of a directory of its lower layer.
    if (errno != EINVAL && errno != ENOSYS && errno != EXDEV) {
        return failed(errno);
    }
    if (Status removed = remove_entry(at, name_); !removed) {
        return removed.error().within(path());
    }
    return ::renameat(at, temporary_.c_str(), at, name_.c_str()) == 0 ? Status{}
                                                                      : failed(errno);
}

Error TreePlace::exists() const {
    return Error{Blame::user, path() + ": exists already"}.remedy(
        "remove it, or add keep, newer or overwrite to the option (SRC:DST:overwrite)");
}

Error TreePlace::failed(int cause) const {
    return target_error(path(), cause);
}

}  // namespace stage

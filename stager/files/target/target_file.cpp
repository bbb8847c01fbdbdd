#include "stager/files/target/target_file.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/disk_io.h"
#include "stager/disk/file_names.h"
#include "stager/disk/foreign_entry.h"
#include "stager/disk/open_to_read.h"
#include "stager/files/manifest/attributes.h"
#include "stager/files/target/file_compare.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

namespace stage {
Result<TargetFile> TargetFile::decide(TargetOrder order,
                                      const ManifestEntry& entry,
                                      Writer writer) {
    TRY(auto directory, open_target_directory(order.place));
    if (!order.keeps_owners && (entry.mode & kSetIdBits) != 0) {
        return set_id_refused(order.place.path());
    }
    TargetFile file{std::move(order), entry, std::move(writer), std::move(directory)};
    TRY(file.look());
    return file;
}

TargetFile::TargetFile(TargetOrder order,
                       const ManifestEntry& entry,
                       Writer writer,
                       TargetDirectory at)
    : order_{std::move(order)},
      writer_{std::move(writer)},
      directory_{std::move(at)},
      name_{order_.place.name()},
      temporary_{temporary_name(directory_, name_, writer_, writer_.rank)},
      node_{order_.keeps_owners ? node_of(entry) : without_owner(node_of(entry))},
      stamp_{order_.is_resumable || order_.is_noted ? entry.stamp_if_any() : std::nullopt},
      behind_{order_.page_room} {
    choose_temporary();
}

void TargetFile::choose_temporary() {
    const int at = directory_.fd.get();
    if (is_taken_up() && is_of_another(at, partial_name(name_))) {
        order_.is_resumable = false;
    }
    temporary_ = is_taken_up() ? partial_name(name_) : free_name(at, temporary_);
}

TargetFile::TargetFile(TargetFile&& other) noexcept
    : order_{std::move(other.order_)},
      writer_{std::move(other.writer_)},
      directory_{std::move(other.directory_)},
      name_{std::move(other.name_)},
      temporary_{std::move(other.temporary_)},
      has_temporary_{std::exchange(other.has_temporary_, false)},
      may_replace_{other.may_replace_},
      way_{other.way_},
      fd_{std::move(other.fd_)},
      rest_{other.rest_},
      node_{std::move(other.node_)},
      stamp_{other.stamp_},
      note_{std::move(other.note_)},
      room_before_{other.room_before_},
      behind_{std::move(other.behind_)} {
}

TargetFile::~TargetFile() {
    const bool is_worth_it = is_taken_up() && note_ && note_->has_any();
    if (has_temporary_ && !is_worth_it && wake()) {
        static_cast<void>(::unlinkat(directory_.fd.get(), temporary_.c_str(), 0));
    }
}

TargetNeeds TargetFile::needs() const {
    return way_ == Way::write
               ? TargetNeeds{.bytes = node_.room() - std::min(node_.room(), room_before_),
                             .inodes = 1}
               : TargetNeeds{};
}

std::string TargetFile::temporary_path() const {
    const std::string path = order_.place.path();
    return path.substr(0, path.size() - name_.size()) + temporary_;
}

/// Examines the existing file of that name, and applies the user's flags.
Status TargetFile::look() {
    may_replace_ = order_.existing == Existing::overwrite || order_.existing == Existing::newer;
    room_before_ = is_taken_up() ? room_of_part() : 0;
    struct stat there {};
    if (::fstatat(directory_.fd.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? Status{} : Status{failed(errno)};
    }
    if (S_ISDIR(there.st_mode)) {
        return failed(EISDIR);
    }
    if (order_.existing != Existing::overwrite || is_source(there)) {
        if (Status counts = check_counts(there); !counts) {
            return counts;
        }
    }
    if (is_source(there) || order_.existing == Existing::keep ||
        (order_.existing == Existing::newer && !order_.is_newer &&
         is_no_older(mtime_of(there), node_.mtime))) {
        way_ = Way::leave;
        return check_kept(directory_.fd.get(), name_, path(), S_IFREG);
    }
    if (may_replace_) {
        return check_replaceable();
    }
    if (!S_ISREG(there.st_mode) || static_cast<std::uint64_t>(there.st_size) != node_.size) {
        return differs();
    }
    way_ = Way::compare;
    return open_existing();
}

bool TargetFile::is_source(const struct stat& there) const {
    return order_.source && *order_.source == identity_of(there);
}

/// A file to compare with may have the mode of a new copy of the source, also world-writable,
/// and, if root copies owners, another owner.
Status TargetFile::check_counts(const struct stat& there) const {
    ForeignEntryTolerance tolerance{.is_writable = is_source(there),
                                    .has_names = is_source(there)};
    if (order_.existing == Existing::refuse) {
        tolerance.is_writable = tolerance.is_writable || (node_.mode & S_IWOTH) != 0;
        tolerance.own = tolerance.own == 0 ? node_.uid : tolerance.own;
    }
    return refuse_foreign_entry(directory_.fd.get(), there, path(), tolerance);
}

/// Checks the file again: the one that was examined by name may have been replaced.
Status TargetFile::open_existing() {
    fd_ = open_to_read(directory_.fd.get(), name_, O_NOFOLLOW);
    struct stat there {};
    return fd_ && ::fstat(fd_.get(), &there) == 0 ? check_counts(there) : failed(errno);
}

Status TargetFile::begin() {
    if (way_ != Way::write) {
        return {};
    }
    if (Status awake = wake(); !awake) {
        return awake;
    }
    if (Status made = make_temporary(); !made) {
        return made;
    }
    if (is_taken_up()) {
        return resume_partial();
    }
    if (Status alone = check_alone(directory_, fd_.get(), name_, writer_, path()); !alone) {
        return alone;
    }
    Status room = take_room();
    return room && stamp_ ? begin_note() : std::move(room);
}

/// A file left by an earlier run of this job (a killed worker) is unlocked and can be used.
Status TargetFile::make_temporary() {
    constexpr int kMake = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    if (is_taken_up() && open_part()) {
        return {};
    }
    for (int attempt = 0; attempt < 2; ++attempt) {
        fd_.reset(::openat(directory_.fd.get(), temporary_.c_str(), kMake, 0600));
        if (fd_) {
            has_temporary_ = true;
            // Without working locks a leftover can't be distinguished from a neighbour's file.
            static_cast<void>(::flock(fd_.get(), LOCK_EX | LOCK_NB));
            clear_inherited_acl(fd_.get());
            return {};
        }
        if (errno == ENOENT &&
            order_.place.made) {  // Another stage has just removed the directory that it made.
            TRY(auto again, open_target_directory(order_.place));
            directory_ = std::move(again);
            continue;
        }
        if (errno != EEXIST) {
            return failed(errno);
        }
        const UniqueFd old{::openat(directory_.fd.get(),
                                    temporary_.c_str(),
                                    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
        struct stat status {};
        const bool is_leftover = old && ::fstat(old.get(), &status) == 0 &&
                                 S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
                                 ::flock(old.get(), LOCK_EX | LOCK_NB) == 0;
        if (!is_leftover || ::unlinkat(directory_.fd.get(), temporary_.c_str(), 0) != 0) {
            break;
        }
    }
    return Error{Blame::user, temporary_path() + ": is in the way"}.remedy(
        "remove it, unless another stage is at work there");
}

/// Holes take no space, nor do small extents between them before their data arrive.
Status TargetFile::take_room() {
    if (node_.kind == TreeKind::sparse) {
        const bool is_long = ::ftruncate(fd_.get(), static_cast<off_t>(node_.size)) == 0;
        return is_long ? Status{} : Status{failed(errno)};
    }
    const int cause = stage::take_room(fd_.get(), node_.size);
    return cause == 0 ? Status{} : Status{failed(cause)};
}

Result<Placing> TargetFile::write(std::uint64_t offset, Bytes bytes) {
    if (way_ == Way::leave) {
        return Placing::discarded;
    }
    TRY(wake());
    if (way_ == Way::compare) {
        Status same = compared(has_bytes(fd_.get(), node_, offset, bytes));
        return same ? Result<Placing>{Placing::placed} : std::move(same).error();
    }
    for (const FilePiece& piece : file_pieces(node_, offset, bytes.size())) {
        if (!write_fully(fd_.get(), bytes.subspan(piece.begin, piece.length), piece.offset)) {
            return failed(errno);
        }
        behind_.wrote(fd_.get(), piece.offset, piece.length);
    }
    if (behind_.cause() != 0) {
        return failed(behind_.cause());
    }
    return Placing::placed;
}

Status TargetFile::compared(std::optional<bool> is_same) const {
    if (!is_same) {
        return failed(errno);
    }
    return *is_same ? Status{} : Status{differs()};
}

Status TargetFile::read_back(std::uint64_t offset, MutableBytes room) {
    if (Status awake = wake(); !awake) {
        return awake;
    }
    if (way_ == Way::leave || !fd_) {
        return Error{Blame::internal, path() + ": its bytes were not kept"};
    }
    for (const FilePiece& piece : file_pieces(node_, offset, room.size())) {
        const std::int64_t count =
            read_fully(fd_.get(), room.subspan(piece.begin, piece.length), piece.offset);
        if (count < 0) {
            return failed(errno);
        }
        if (static_cast<std::size_t>(count) < piece.length) {
            return Error{Blame::user, path() + ": became shorter after it was staged"};
        }
        behind_.was_read(fd_.get(), piece.offset, piece.length);
    }
    return {};
}

/// Uses another descriptor, since the own one can write.
UniqueFd TargetFile::reading() const {
    if (!wake()) {
        return {};
    }
    const bool has_bytes = fd_ && (way_ == Way::write || way_ == Way::compare);
    const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
    return has_bytes ? UniqueFd{::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)}
                     : UniqueFd{};
}

bool TargetFile::clone(int file) {
    if (way_ != Way::write || !wake() || !fd_) {
        return false;
    }
    const int own = fd_.get();
    bool is_cloned = ::ioctl(own, FICLONE, file) == 0;  // NOLINT: its number is made for ints.
    // If the length is no multiple of the disk's blocks, nothing may follow it, not even a
    // note.
    if (!is_cloned && errno == EINVAL && note_ &&
        ::ftruncate(own, static_cast<off_t>(node_.size)) == 0) {
        is_cloned = ::ioctl(own, FICLONE, file) == 0;  // NOLINT
        if (is_cloned) {
            note_.reset();
        } else {
            static_cast<void>(write_note());
        }
    }
    return is_cloned;
}

Status TargetFile::settle() {
    if (Status awake = wake(); !awake) {
        return awake;
    }
    if (way_ == Way::compare) {
        return compared(has_holes(fd_.get(), node_));
    }
    if (way_ == Way::leave) {
        return {};
    }
    // The note behind the file's bytes is removed, so the file cannot be resumed any more.
    if (note_ && ::ftruncate(fd_.get(), static_cast<off_t>(node_.size)) != 0) {
        return failed(errno);
    }
    note_.reset();
    if (Status closed = close_for_writing(); !closed) {
        return closed;
    }
    if (!keep_attributes(fd_.get(), node_)) {
        return failed(errno);
    }
    if (order_.is_durable && ::fsync(fd_.get()) != 0) {
        return failed(errno);
    }
    // A read-back since the last block may have waited for the disk, too.
    return behind_.cause() == 0 ? Status{} : Status{failed(behind_.cause())};
}

/// Called before the file has its mode, which may forbid its owner to read it. Only close(2)
/// reports what NFS could not store. Between the two locks the name is unlocked for a moment;
/// only another run of this same member could take it then.
Status TargetFile::close_for_writing() {
    UniqueFd reader = reading();
    if (!reader || ::close(fd_.release()) != 0) {
        return failed(errno);
    }
    fd_ = std::move(reader);
    static_cast<void>(::flock(fd_.get(), LOCK_EX | LOCK_NB));
    return {};
}

Error TargetFile::differs() const {
    return Error{Blame::user, path() + ": exists already and differs"}.remedy(
        "remove it, or add keep, newer or overwrite to the option (SRC:DST:overwrite)");
}

/// Other programs use the name of a device, FIFO or socket. (It may have been made during the
/// transfer.)
Status TargetFile::check_replaceable() const {
    struct stat there {};
    if (::fstatat(directory_.fd.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? Status{} : Status{failed(errno)};
    }
    if (S_ISREG(there.st_mode) || S_ISLNK(there.st_mode)) {
        return {};
    }
    return S_ISDIR(there.st_mode)
               ? failed(EISDIR)
               : Error{Blame::user, path() + ": exists already and is no regular file"}.remedy(
                     "remove it, or name another destination");
}

Error TargetFile::failed(int cause) const {
    return target_error(path(), cause);
}

Status TargetFile::appear() {
    if (Status awake = wake(); !awake) {
        return awake;
    }
    if (way_ != Way::write) {
        return still_there();
    }
    if (may_replace_) {
        if (Status replaceable = check_replaceable(); !replaceable) {
            return replaceable;
        }
        if (::renameat(
                directory_.fd.get(), temporary_.c_str(), directory_.fd.get(), name_.c_str()) !=
            0) {
            return failed(errno);
        }
        has_temporary_ = false;
    } else if (Status named = rename_if_free(); !named) {
        return named;
    }
    if (order_.place.refuses_network) {  // Left by an earlier push, and not needed any more.
        remove_partial(directory_.fd.get(), partial_name(name_));
    }
    if (order_.is_durable) {
        const UniqueFd directory{
            ::openat(directory_.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        // Some file systems can sync files, and no directories.
        if (!directory || (::fsync(directory.get()) != 0 && errno != EINVAL &&
                           errno != ENOSYS && errno != EOPNOTSUPP)) {
            return failed(errno);
        }
    }
    return {};
}

Status TargetFile::rename_if_free() {
    const int at = directory_.fd.get();
    int cause = 0;
    if (::renameat2(at, temporary_.c_str(), at, name_.c_str(), RENAME_NOREPLACE) != 0) {
        cause = errno;
    }
    if (cause == EINVAL || cause == ENOSYS) {  // NFS, FUSE: link(2) refuses a taken name, too.
        cause = ::linkat(at, temporary_.c_str(), at, name_.c_str(), 0) == 0 ? 0 : errno;
        if (cause == 0) {
            static_cast<void>(::unlinkat(at, temporary_.c_str(), 0));
        }
    }
    if (cause == EEXIST) {
        return meet_newcomer();
    }
    if (cause != 0) {
        return failed(cause);
    }
    has_temporary_ = false;
    return {};
}

/// An existing file that is kept may be removed by another job.
Status TargetFile::still_there() const {
    struct stat there {};
    struct stat ours {};
    const bool is_there =
        ::fstatat(directory_.fd.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    const bool is_left = way_ == Way::leave;
    if (!is_there || (!is_left && (::fstat(fd_.get(), &ours) != 0 ||
                                   identity_of(ours) != identity_of(there)))) {
        return was_taken_away(path());
    }
    Status counts = check_counts(there);
    return counts && is_left ? check_kept(directory_.fd.get(), name_, path(), S_IFREG)
                             : std::move(counts);
}

/// Another process made a file of that name meanwhile. It is treated like an existing file.
Status TargetFile::meet_newcomer() {
    if (order_.existing == Existing::keep) {
        way_ = Way::leave;
        return still_there();
    }
    const UniqueFd own = std::move(fd_);
    struct stat there {};
    if (Status opened = open_existing(); !opened) {
        return opened;
    }
    if (::fstat(fd_.get(), &there) != 0) {
        return failed(errno);
    }
    if (!S_ISREG(there.st_mode) || static_cast<std::uint64_t>(there.st_size) != node_.size ||
        !has_same_bytes(own.get(), fd_.get(), node_.size)) {
        return differs();
    }
    static_cast<void>(::unlinkat(directory_.fd.get(), temporary_.c_str(), 0));
    has_temporary_ = false;
    way_ = Way::compare;
    return {};
}

void TargetFile::rest() {
    rest_.begin(directory_.fd, fd_);
}

Status TargetFile::wake() const {
    if (!rest_.is_resting()) {
        return {};
    }
    TRY(rest_.end(order_.place, has_temporary_ ? temporary_ : name_, directory_.fd, fd_));
    if (has_temporary_ && fd_) {
        static_cast<void>(::flock(fd_.get(), LOCK_EX | LOCK_NB));
    }
    return {};
}

namespace {

void wait_until_idle(int directory,
                     const std::string& temporary,
                     std::chrono::milliseconds longest) {
    constexpr std::chrono::milliseconds kStep{20};
    for (auto left = longest; left.count() > 0 && is_at_work(directory, temporary, ::geteuid());
         left -= kStep) {
        std::this_thread::sleep_for(kStep);
    }
}

}  // namespace

/// The disk space that the partial file takes already.
std::uint64_t TargetFile::room_of_part() const {
    constexpr std::uint64_t kStatBlockBytes = 512;
    struct stat there {};
    const bool is_ours =
        ::fstatat(directory_.fd.get(), temporary_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(there.st_mode) && there.st_uid == ::geteuid();
    return is_ours ? static_cast<std::uint64_t>(there.st_blocks) * kStatBlockBytes : 0;
}

/// Returns false if there is no usable partial file.
bool TargetFile::open_part() {
    wait_until_idle(directory_.fd.get(), temporary_, order_.lock_timeout);
    fd_ = open_partial(directory_.fd.get(), temporary_);
    has_temporary_ = static_cast<bool>(fd_);
    return has_temporary_;
}

/// Opens the partial file or makes a new one, and reads its note. make_temporary() has found
/// any other stage that holds the lock.
Status TargetFile::resume_partial() {
    note_.emplace(fd_.get(), *stamp_, node_.size);
    if (Status room = take_room(); !room) {
        return room;
    }
    return note_->write(fd_.get()) ? Status{} : Status{failed(errno)};
}

/// Begins the note of a new file.
Status TargetFile::begin_note() {
    note_.emplace(*stamp_, node_.size);
    return write_note();
}

/// A file without a note is not kept after an interruption; that is no error.
Status TargetFile::write_note() {
    if (note_->write(fd_.get())) {
        return {};
    }
    note_.reset();
    const bool is_bare = ::ftruncate(fd_.get(), static_cast<off_t>(node_.size)) == 0;
    return is_bare ? Status{} : Status{failed(errno)};
}

std::vector<Digest128> TargetFile::noted() const {
    return note_ && is_taken_up() ? note_->leaves() : std::vector<Digest128>{};
}

void TargetFile::note(std::uint64_t offset, const Digest128& leaf) {
    if (note_) {
        note_->record(fd_.get(), offset / kBlockBytes, leaf);
    }
}

}  // namespace stage

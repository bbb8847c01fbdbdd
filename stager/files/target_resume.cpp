// How does a file's stage go on where an earlier one was broken off?
#include "stager/files/target_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

namespace stage {
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

/// What it takes of the disk already.
std::uint64_t TargetFile::room_of_part() const {
    constexpr std::uint64_t kStatBlockBytes = 512;
    struct stat there {};
    const bool is_ours =
        ::fstatat(directory_.fd.get(), temporary_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(there.st_mode) && there.st_uid == ::geteuid();
    return is_ours ? static_cast<std::uint64_t>(there.st_blocks) * kStatBlockBytes : 0;
}

/// False: there is none, or nothing that would be one.
bool TargetFile::open_part() {
    wait_until_idle(directory_.fd.get(), temporary_, order_.lock_patience);
    fd_ = open_partial(directory_.fd.get(), temporary_);
    has_temporary_ = static_cast<bool>(fd_);
    return has_temporary_;
}

/// What came before, or a new file, with the note of it. Another stage that holds the lock has
/// been found by make_temporary().
Status TargetFile::take_up_partial() {
    note_.emplace(fd_.get(), *stamp_, node_.size);
    if (Status room = take_room(); !room) {
        return room;
    }
    return note_->write(fd_.get()) ? Status{} : Status{failed(errno)};
}

/// Of a new file.
Status TargetFile::begin_note() {
    note_.emplace(*stamp_, node_.size);
    return write_note();
}

/// What can't be noted is not kept if it is broken off, no more.
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

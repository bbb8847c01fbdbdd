#include "stager/files/target/partial.h"

#include "stager/disk/disk_io.h"
#include "stager/disk/file_names.h"
#include "stager/files/target/target.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace stage {
namespace {

constexpr std::string_view kTail = ".stagecast.part";

}  // namespace

std::string partial_name(const std::string& name) {
    return hidden_name(name, kTail);
}

UniqueFd open_partial(int directory, const std::string& partial) {
    UniqueFd file{::openat(
        directory, partial.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    struct stat status {};
    // A second name may belong to an unrelated file; another mode was not set by stagecast.
    const bool is_ours = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_uid == ::geteuid() && status.st_nlink == 1 &&
                         (status.st_mode & 07777U) == 0600 &&
                         (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
    return is_ours ? std::move(file) : UniqueFd{};
}

void remove_partial(int directory, const std::string& partial) {
    if (open_partial(directory, partial)) {
        static_cast<void>(::unlinkat(directory, partial.c_str(), 0));
    }
}

PartialNote::PartialNote(int file, const SourceStamp& stamp, std::uint64_t size)
    : stamp_{stamp}, size_{size} {
    auto leaves = read_note(file, stamp, size);
    // A partial file of another source returns its space first. (Otherwise it is overwritten.)
    const bool is_emptied = leaves || ::ftruncate(file, 0) == 0;
    static_cast<void>(is_emptied);
    leaves_ = leaves ? *std::move(leaves) : std::vector<Digest128>(part_block_count(size));
    has_any_ =
        std::ranges::any_of(leaves_, [](const Digest128& leaf) { return leaf != Digest128{}; });
}

PartialNote::PartialNote(const SourceStamp& stamp, std::uint64_t size)
    : stamp_{stamp}, size_{size}, leaves_(part_block_count(size)) {
}

bool PartialNote::write(int file) const {
    return write_fully(file, encode_note(stamp_, size_, leaves_), size_);
}

void PartialNote::record(int file, std::size_t block, const Digest128& leaf) {
    has_any_ = true;
    leaves_[block] = leaf;
    static_cast<void>(write_fully(file, leaf, size_ + note_offset_of(block)));
}

}  // namespace stage

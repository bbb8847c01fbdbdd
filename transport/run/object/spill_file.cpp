#include "transport/run/object/spill_file.h"

#include "transport/base/units.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

namespace stage {
namespace {

/// Blocks by which the file grows.
constexpr std::uint32_t kGrowth = 16;
constexpr std::size_t kGrowthBytes = std::size_t{kGrowth} * kBlockBytes;
/// The file takes at most this part of the free room: the object itself has not got its room
/// everywhere before it arrives.
constexpr std::uint64_t kPartOfFree = 16;

bool has_room(int file, std::uint64_t bytes) {
    struct statvfs disk {};
    return ::fstatvfs(file, &disk) == 0 &&
           std::uint64_t{disk.f_bavail} * disk.f_frsize / kPartOfFree >= bytes;
}

/// On failure what was reserved before room or quota ended is given back: the object needs it.
bool reserve(int file, std::uint64_t end) {
    const bool is_reserved = ::fallocate(file, 0, static_cast<off_t>(end), kGrowthBytes) == 0;
    if (!is_reserved) {
        [[maybe_unused]] const int given = ::ftruncate(file, static_cast<off_t>(end));
    }
    return is_reserved;
}

constexpr std::uint32_t kZfs = 0x2fc12fc1;

/// In memory, or reserved room is none: a write to a page may still find the disk full.
bool is_unfit(int file) {
    struct statfs system {};
    if (::fstatfs(file, &system) != 0) {
        return true;
    }
    // Types are 32-bit numbers, which a signed long extends.
    const auto type = static_cast<std::uint32_t>(system.f_type);
    return type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == BTRFS_SUPER_MAGIC ||
           type == kZfs;
}

}  // namespace

SpillFile::~SpillFile() {
    for (std::byte* const mapping : mappings_) {
        ::munmap(mapping, kGrowthBytes);
    }
}

std::byte* SpillFile::take() {
    if (taken_ >= blocks_max_ || (taken_ == mappings_.size() * kGrowth && !grow())) {
        return nullptr;
    }
    const std::uint32_t taken = taken_++;
    return mappings_[taken / kGrowth] + std::size_t{taken % kGrowth} * kBlockBytes;
}

bool SpillFile::open() {
    if (!file_) {
        file_.reset(::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    }
    return static_cast<bool>(file_) && !is_unfit(file_.get());
}

bool SpillFile::grow() {
    const std::uint64_t end = std::uint64_t{mappings_.size()} * kGrowthBytes;
    if (!open() || !has_room(file_.get(), end + kGrowthBytes) || !reserve(file_.get(), end)) {
        return false;
    }
    void* const mapped = ::mmap(nullptr,
                                kGrowthBytes,
                                PROT_READ | PROT_WRITE,
                                MAP_SHARED,
                                file_.get(),
                                static_cast<off_t>(end));
    if (mapped == MAP_FAILED) {
        return false;
    }
    mappings_.push_back(static_cast<std::byte*>(mapped));
    return true;
}

std::uint64_t SpillFile::bytes() const {
    struct stat status {};
    return ::fstat(file_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace stage

#include "stager/files/archive/target_archive.h"

#include "stager/disk/disk_io.h"
#include "stager/files/archive/unpacker.h"

#include <fcntl.h>
#include <unistd.h>

#include <new>

namespace stage {

Result<std::unique_ptr<TargetArchive>> TargetArchive::decide(TargetOrder order,
                                                             const ManifestEntry& entry,
                                                             Writer writer,
                                                             std::uint64_t bytes_max) {
    std::string archive = std::move(order.archive);
    const UnpackLimits limits{
        .bytes_max = bytes_max, .umask = order.umask, .skips_devices = order.skips_devices};
    if (entry.is_tree()) {
        return Error{Blame::user, archive + ": is a directory, there is nothing to unpack"}
            .remedy("leave out extract");
    }
    if (order.source) {  // Unpacking onto the archive itself would destroy it.
        order.above_source.push_back(*order.source);
        order.source.reset();
    }
    TRY(auto place, TreePlace::decide(std::move(order), entry.mtime, std::move(writer)));
    return std::make_unique<TargetArchive>(std::move(place), std::move(archive), entry, limits);
}

TargetArchive::TargetArchive(std::unique_ptr<TreePlace> place,
                             std::string archive,
                             const ManifestEntry& entry,
                             const UnpackLimits& limits)
    : PlacedTarget{std::move(place)},
      archive_{std::move(archive)},
      size_{entry.size},
      mtime_{entry.mtime},
      limits_{limits} {
}

TargetArchive::~TargetArchive() {
    if (bytes_) {
        bytes_->stop();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

/// Counts the archive itself. The unpacked files are counted while they are made.
TargetNeeds TargetArchive::needs() const {
    return is_left() ? TargetNeeds{} : TargetNeeds{.bytes = size_, .inodes = 2};
}

UniqueFd TargetArchive::reading() const {
    return bytes_ ? bytes_->reading() : UniqueFd{};
}

Result<UniqueFd> TargetArchive::make_nameless() const {
    constexpr const char* kName = ".stagecast.archive";
    constexpr int kMake = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd file{::openat(place().top(), kName, kMake, 0600)};
    if (!file || ::unlinkat(place().top(), kName, 0) != 0) {
        return place().failed(errno);
    }
    if (const int cause = take_room(file.get(), size_); cause != 0) {
        return place().failed(cause);
    }
    return file;
}

Status TargetArchive::begin() {
    if (Status begun = PlacedTarget::begin(); !begun || is_left()) {
        return begun;
    }
    Result<UniqueFd> file = make_nameless();
    UniqueFd top{::fcntl(place().top(), F_DUPFD_CLOEXEC, 0)};
    if (!file || !top) {
        return file ? place().failed(errno) : std::move(file).error();
    }
    const TargetDirectory& disk = place().directory();
    UnpackLimits limits = limits_;
    limits.bytes_free = disk.free_bytes - std::min(disk.free_bytes, size_);
    limits.inodes_free = disk.free_inodes;
    bytes_ = std::make_unique<ArrivedBytes>(*std::move(file), size_);
    tree_ = std::make_unique<UnpackTree>(std::move(top), path(), limits);
    thread_ = std::thread{[this] { unpack_all(); }};
    return {};
}

void TargetArchive::unpack_all() {
    try {
        unpacked_ = unpack(*bytes_, *tree_, archive_, mtime_);
    } catch (const std::bad_alloc&) {  // The worker's memory is limited (spawn/request.h).
        unpacked_ =
            Error{Blame::user, archive_ + ": unpacking it takes too much memory"}.remedy(
                "unpack it first, and stage the directory");
    }
    has_failed_ = !unpacked_.ok();
    bytes_->end_reading();
}

Result<Placing> TargetArchive::write(std::uint64_t offset, Bytes bytes) {
    if (is_left()) {
        return Placing::discarded;
    }
    if (has_failed_) {
        return unpacked_.error();
    }
    if (!bytes_->write(offset, bytes)) {
        return place().failed(errno);
    }
    bytes_->wait_for_reader();
    return Placing::placed;
}

Status TargetArchive::read_back(std::uint64_t offset, MutableBytes room) {
    const bool is_read = bytes_ && bytes_->read_back(offset, room);
    return is_read ? Status{}
                   : Status{Error{Blame::internal, path() + ": its bytes were not kept"}};
}

Status TargetArchive::settle() {
    if (is_left()) {
        return {};
    }
    if (thread_.joinable()) {
        thread_.join();
    }
    return unpacked_ ? place().sync() : unpacked_;
}

}  // namespace stage

#include "stager/content/source_stamp.h"

#include "transport/base/codec.h"

#include <sys/vfs.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <string_view>

namespace stage {
namespace {

constexpr std::string_view kLabel = "stagecast 1 stamp";
constexpr std::string_view kTreeLabel = "stagecast 1 tree stamp";

std::chrono::nanoseconds time_of(const timespec& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

bool is_young(const struct stat& status, std::chrono::nanoseconds now) {
    return now - std::max(time_of(status.st_mtim), time_of(status.st_ctim)) < kStampAgeMin;
}

void put_time(ByteWriter& writer, const timespec& time) {
    writer.u64(static_cast<std::uint64_t>(time.tv_sec));
    writer.u64(static_cast<std::uint64_t>(time.tv_nsec));
}

}  // namespace

std::optional<SourceStamp> stamp_of(const std::string& path,
                                    const struct stat& status,
                                    std::chrono::nanoseconds now,
                                    const std::string& ground) {
    if (is_young(status, now)) {
        return std::nullopt;
    }
    ByteWriter writer;
    writer.raw(std::as_bytes(std::span{kLabel})).text(path).text(ground);
    writer.u64(status.st_ino).u64(static_cast<std::uint64_t>(status.st_size));
    put_time(writer, status.st_mtim);
    put_time(writer, status.st_ctim);
    return sha256(writer.view());
}

void TreeStamper::add(const struct stat& status) {
    device_ = device_.value_or(status.st_dev);
    has_stamp_ = has_stamp_ && status.st_dev == *device_ && !is_young(status, begun_);
    if (has_stamp_) {
        ByteWriter writer;
        writer.u64(status.st_ino);
        put_time(writer, status.st_mtim);
        put_time(writer, status.st_ctim);
        members_.add(writer.view());
    }
}

std::optional<SourceStamp> TreeStamper::stamp(const std::string& path,
                                              Bytes index,
                                              const std::string& ground) const {
    if (!has_stamp_ || !device_) {
        return std::nullopt;
    }
    ByteWriter writer;
    writer.raw(std::as_bytes(std::span{kTreeLabel})).text(path).text(ground);
    writer.raw(sha256(index)).raw(members_.digest());
    return sha256(writer.view());
}

bool tells_changes(std::uint64_t type) {
    // linux/magic.h lacks some of them.
    constexpr std::array<std::uint64_t, 11> kSilent{
        0x73717368,  // squashfs
        0xe0f5e1e2,  // EROFS
        0x9660,      // ISO 9660
        0x15013346,  // UDF
        0x28cd3d45,  // cramfs
        0x7275,      // romfs
        0x4d44,      // FAT
        0x2011bab0,  // exFAT
        0x5346544e,  // NTFS
        0x7366746e,  // NTFS3
        0x65735546,  // FUSE
    };
    return std::ranges::find(kSilent, type) == kSilent.end();
}

std::optional<std::string> stamp_ground(int fd) {
    constexpr std::uint32_t kOverlay = 0x794c7630;
    struct statfs about {};
    if (::fstatfs(fd, &about) != 0) {
        return std::nullopt;
    }
    const auto type = static_cast<std::uint32_t>(about.f_type);
    if (type != kOverlay) {
        return tells_changes(type) ? std::optional{std::string{}} : std::nullopt;
    }
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string start;
    return std::getline(file, start) ? std::optional{start} : std::nullopt;
}

}  // namespace stage

#include "stager/files/source/held_members.h"

#include "stager/disk/disk_io.h"

#include <algorithm>

namespace stage {
namespace {

/// A member that was not written to for so long is expected to stay as it is.
constexpr std::chrono::seconds kLately{60};
constexpr std::uint64_t kSmallMax = 256U << 10U;  ///< Bytes of a member that is held in memory.
constexpr int kReadsMax = 3;
constexpr std::uint64_t kTailBytes = 64U << 10U;

std::chrono::nanoseconds time_of(const timespec& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

bool is_same_content(const struct stat& one, const struct stat& other) {
    return one.st_size == other.st_size && one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
           one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

/// Reads all of `file` at a time at which it does not change, and its status then. Returns
/// false if it changes each time.
bool read_steadily(int file, struct stat& status, std::vector<std::byte>& bytes) {
    for (int reads = 0; reads < kReadsMax; ++reads) {
        struct stat after {};
        bytes.resize(static_cast<std::size_t>(status.st_size));
        const std::int64_t count = read_fully(file, bytes, 0);
        if (count < 0 || ::fstat(file, &after) != 0) {
            return false;
        }
        if (count == status.st_size && is_same_content(status, after)) {
            return true;
        }
        status = after;
        if (static_cast<std::uint64_t>(status.st_size) > kSmallMax) {
            return false;
        }
    }
    return false;
}

}  // namespace

std::optional<Digest128> tail_of(int file, std::uint64_t size) {
    std::vector<std::byte> tail(static_cast<std::size_t>(std::min(size, kTailBytes)));
    const bool is_whole =
        read_fully(file, tail, size - tail.size()) == static_cast<std::int64_t>(tail.size());
    return is_whole ? std::optional{xxh3_128(tail)} : std::nullopt;
}

void HeldMembers::take(HeldRoom& room,
                       std::uint32_t node,
                       int at,
                       const std::string& name,
                       int no_follow,
                       struct stat& status) {
    const bool is_young = now_ - time_of(status.st_mtim) < kLately;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const bool is_small = size <= kSmallMax && size <= room.bytes;
    if (!is_young || size == 0 || (!is_small && room.files == 0)) {
        return;
    }
    HeldMember held;
    struct stat now {};
    held.file = open_to_read(at, name, no_follow);
    if (!held.file || ::fstat(held.file.get(), &now) != 0 || !S_ISREG(now.st_mode) ||
        now.st_size == 0) {
        return;  // The walk itself reports what is wrong with it.
    }
    if (is_small && static_cast<std::uint64_t>(now.st_size) <= kSmallMax &&
        read_steadily(held.file.get(), now, held.bytes) && held.bytes.size() <= room.bytes) {
        room.bytes -= held.bytes.size();
        held.file.reset();
    } else {
        const auto tail = tail_of(held.file.get(), static_cast<std::uint64_t>(now.st_size));
        if (room.files == 0 || !tail) {
            return;
        }
        held.bytes.clear();
        held.tail = *tail;
        --room.files;
    }
    status = now;
    all_.emplace(node, std::move(held));
}

const HeldMember* HeldMembers::find(std::uint32_t node) const {
    const auto found = all_.find(node);
    return found == all_.end() ? nullptr : &found->second;
}

}  // namespace stage

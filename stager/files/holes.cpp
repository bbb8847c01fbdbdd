#include "stager/files/holes.h"

#include "stager/files/disk_io.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stage {

std::optional<std::vector<TreeExtent>> extents_of(int fd, std::uint64_t bytes) {
    std::vector<TreeExtent> extents;
    const auto size = static_cast<off_t>(bytes);
    off_t end = 0;
    while (end < size) {
        const off_t data = ::lseek(fd, end, SEEK_DATA);
        const off_t hole = data < 0 ? -1 : ::lseek(fd, data, SEEK_HOLE);
        if (data < 0 && errno == ENXIO) {
            break;  // Nothing but a hole to its end.
        }
        if (hole <= data || extents.size() == kMaxTreeExtents) {
            return std::nullopt;  // It can't say, or too much.
        }
        end = std::min(hole, size);
        extents.push_back({.offset = static_cast<std::uint64_t>(data),
                           .length = static_cast<std::uint64_t>(end - data)});
    }
    const bool has_holes = extents.size() != 1 || extents[0].length != bytes;
    return has_holes ? std::optional{std::move(extents)} : std::nullopt;
}

bool is_zero(int fd, std::uint64_t offset, std::uint64_t end) {
    constexpr std::uint64_t kStep = 256U << 10U;
    std::vector<std::byte> room(kStep);
    while (offset < end) {
        const off_t data = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
        if (data < 0 && errno == ENXIO) {
            return true;
        }
        offset = std::max(offset, data < 0 ? offset : static_cast<std::uint64_t>(data));
        const std::uint64_t left = end - std::min(offset, end);
        const auto count = static_cast<std::size_t>(std::min(kStep, left));
        const MutableBytes part = MutableBytes{room}.first(count);
        errno = 0;
        const bool is_read =
            read_fully(fd, part, offset) == static_cast<std::int64_t>(part.size());
        if (!is_read ||
            !std::ranges::all_of(part, [](std::byte one) { return one == std::byte{0}; })) {
            return false;
        }
        offset += count;
    }
    return true;
}

}  // namespace stage

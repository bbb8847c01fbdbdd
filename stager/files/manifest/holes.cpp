#include "stager/files/manifest/holes.h"

#include "stager/disk/disk_io.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

/// The limit of extents to examine, 64 MiB in memory.
constexpr std::size_t kMaxLookedAt = 1U << 22U;

std::uint64_t hole_before(const TreeExtent& extent, const TreeExtent& last) {
    return extent.offset - last.offset - last.length;
}

/// Removes the smallest holes until at most `most` extents are left.
void fill_smallest(std::vector<TreeExtent>& extents, std::size_t most) {
    if (extents.size() <= most) {
        return;
    }
    std::vector<std::uint64_t> holes;
    for (std::size_t i = 1; i < extents.size(); ++i) {
        holes.push_back(hole_before(extents[i], extents[i - 1]));
    }
    const std::size_t too_many = extents.size() - most;
    const auto largest = holes.begin() + static_cast<std::ptrdiff_t>(too_many - 1);
    std::ranges::nth_element(holes, largest);
    std::size_t left = too_many;  // The holes still to fill.
    std::vector<TreeExtent> fewer{extents.front()};
    for (std::size_t i = 1; i < extents.size(); ++i) {
        TreeExtent& last = fewer.back();
        if (left > 0 && hole_before(extents[i], extents[i - 1]) <= *largest) {
            last.length = extents[i].offset + extents[i].length - last.offset;
            --left;
        } else {
            fewer.push_back(extents[i]);
        }
    }
    extents = std::move(fewer);
}

}  // namespace

std::optional<std::vector<TreeExtent>> extents_of(int fd,
                                                  std::uint64_t bytes,
                                                  std::size_t most) {
    std::vector<TreeExtent> extents;
    const auto size = static_cast<off_t>(bytes);
    off_t end = 0;
    while (end < size) {
        const off_t data = ::lseek(fd, end, SEEK_DATA);
        const off_t hole = data < 0 ? -1 : ::lseek(fd, data, SEEK_HOLE);
        if (data < 0 && errno == ENXIO) {
            break;  // Only a hole up to the end follows.
        }
        if (hole <= data || extents.size() == kMaxLookedAt) {
            return std::nullopt;  // The file system can't report holes, or there are too many.
        }
        end = std::min(hole, size);
        extents.push_back({.offset = static_cast<std::uint64_t>(data),
                           .length = static_cast<std::uint64_t>(end - data)});
    }
    fill_smallest(extents, most);
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

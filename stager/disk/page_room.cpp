#include "stager/disk/page_room.h"

#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace stage {
namespace {

std::string first_bytes(const std::string& path) {
    const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    std::array<char, 8192> text{};
    const ssize_t got = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
    return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

/// The number at the beginning of `text`; kAllPages for "max" and for an empty text.
std::uint64_t number_of(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.begin(), text.end(), number);
    return read.ec == std::errc{} ? number : kAllPages;
}

std::uint64_t available(const std::string& root) {
    constexpr std::string_view kName = "MemAvailable:";
    constexpr std::uint64_t kUnitBytes = 1024;
    const std::string text = first_bytes(root + "/proc/meminfo");
    const std::size_t at = text.find(kName);
    const std::uint64_t kilobytes =
        at == std::string::npos ? kAllPages
                                : number_of(std::string_view{text}.substr(at + kName.size()));
    return kilobytes < kAllPages / kUnitBytes ? kilobytes * kUnitBytes : kAllPages;
}

/// The smallest value of `file` in a control group and its ancestors.
std::uint64_t least(const std::string& mount, std::string group, const std::string& file) {
    std::uint64_t bytes = kAllPages;
    while (!group.empty()) {
        group.resize(group.rfind('/'));
        bytes = std::min(bytes, number_of(first_bytes(mount + group + file)));
    }
    return bytes;
}

/// Reads lines such as "7:cpu,memory:/path", and "0::/path" for version 2.
std::uint64_t group_limit(const std::string& root) {
    const std::string mount = root + "/sys/fs/cgroup";
    const std::string text = first_bytes(root + "/proc/self/cgroup");
    std::uint64_t bytes = kAllPages;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(":/", first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) {
            continue;
        }
        // Ends in a slash, because the search for an ancestor's name looks for one.
        std::string group{line.substr(second + 1)};
        group += group.ends_with('/') ? "" : "/";
        const std::string controllers =
            ',' + std::string{line.substr(first + 1, second - first - 1)} + ',';
        if (controllers == ",,") {
            bytes = std::min(bytes, least(mount, group, "/memory.max"));
        } else if (controllers.find(",memory,") != std::string::npos) {
            bytes = std::min(bytes, least(mount + "/memory", group, "/memory.limit_in_bytes"));
        }
    }
    return bytes;
}

}  // namespace

std::uint64_t page_room(const std::string& root) {
    const std::uint64_t bytes = std::min(available(root), group_limit(root));
    return bytes == kAllPages ? kAllPages : bytes / 2;
}

}  // namespace stage

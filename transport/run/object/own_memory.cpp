#include "transport/run/object/own_memory.h"

#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace stage {

std::uint64_t own_memory_bytes() {
    constexpr std::string_view kName = "RssAnon:";
    constexpr std::uint64_t kUnitBytes = 1024;
    const UniqueFd file{::open("/proc/self/status", O_RDONLY | O_CLOEXEC)};
    std::array<char, 4096> room{};
    const ssize_t got = file ? ::read(file.get(), room.data(), room.size()) : 0;
    std::string_view text{room.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
    const std::size_t at = text.find(kName);
    if (at == std::string_view::npos) {
        return 0;
    }
    text.remove_prefix(at + kName.size());
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::uint64_t kilobytes = 0;
    static_cast<void>(std::from_chars(text.begin(), text.end(), kilobytes));
    return kilobytes * kUnitBytes;
}

}  // namespace stage

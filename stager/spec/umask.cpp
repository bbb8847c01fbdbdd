#include "stager/spec/umask.h"

#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace stage {

std::optional<std::uint16_t> process_umask() {
    constexpr std::string_view kKey = "\nUmask:\t";
    std::array<char, 4096> text{};
    const UniqueFd status{::open("/proc/self/status", O_RDONLY | O_CLOEXEC)};
    const ssize_t count = status ? ::read(status.get(), text.data(), text.size()) : -1;
    std::string_view all{text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
    const std::size_t at = all.find(kKey);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    all.remove_prefix(at + kKey.size());
    return parse_umask(all.substr(0, all.find('\n')));
}

std::optional<std::uint16_t> parse_umask(std::string_view text) {
    constexpr std::size_t kMaxDigits = 5;
    const bool is_octal = !text.empty() && text.size() <= kMaxDigits &&
                          text.find_first_not_of("01234567") == std::string_view::npos;
    if (!is_octal) {
        return std::nullopt;
    }
    unsigned value = 0;
    for (const char digit : text) {
        value = value * 8 + static_cast<unsigned>(digit - '0');
    }
    return value <= 0777 ? std::optional{static_cast<std::uint16_t>(value)} : std::nullopt;
}

}  // namespace stage

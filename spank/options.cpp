#include "spank/options.h"

#include "transport/base/unique_fd.h"

#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>

namespace stage {
namespace {

constexpr std::size_t kMaxConfBytes = 1U << 20U;
constexpr Duration kLongestTimeout = std::chrono::hours{24};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\"";
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool same_word(std::string_view one, std::string_view other) {
    return one.size() == other.size() &&
           ::strncasecmp(one.data(), other.data(), one.size()) == 0;
}

void apply_line(Site& site, std::string_view line) {
    line = line.substr(0, line.find('#'));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
        return;
    }
    const std::string_view key = trimmed(line.substr(0, equals));
    const std::string_view value = trimmed(line.substr(equals + 1));
    if (same_word(key, "Enabled")) {
        site.is_enabled = !(same_word(value, "no") || same_word(value, "false") ||
                            value == "0" || same_word(value, "off"));
    } else if (same_word(key, "StageTimeout")) {
        site.stage_timeout = seconds_of(value).value_or(site.stage_timeout);
    } else if (same_word(key, "StageFrom")) {
        site.is_script_first = same_word(value, "prolog-script");
    }
}

}  // namespace

std::optional<Duration> seconds_of(std::string_view text) {
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc{}) {
        return std::nullopt;
    }
    std::string_view unit{rest, static_cast<std::size_t>(end - rest)};
    Duration duration = std::chrono::seconds{number};
    if (unit.starts_with('.')) {  // Part of a unit counts as one.
        unit.remove_prefix(std::min(unit.find_first_not_of("0123456789", 1), unit.size()));
        duration += std::chrono::seconds{1};
    }
    unit = trimmed(unit);
    if (duration == Duration{}) {
        return std::nullopt;
    }
    if (unit == "m" || unit == "min") {
        duration *= 60;
    } else if (unit == "h") {
        duration *= 3600;
    } else if (!unit.empty() && unit != "s") {
        return std::nullopt;
    }
    return std::min(duration, kLongestTimeout);
}

Arguments parse_arguments(std::span<char* const> words) {
    constexpr std::string_view kConf = "conf=";
    constexpr std::string_view kSocket = "socket=";
    Arguments arguments;
    for (const std::string_view word : words) {
        if (word.starts_with(kConf)) {
            arguments.conf_path = word.substr(kConf.size());
        } else if (word.starts_with(kSocket)) {
            arguments.socket_path = word.substr(kSocket.size());
        }
    }
    return arguments;
}

Site parse_site(std::string_view text) {
    Site site;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        apply_line(site, text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return site;
}

Site read_site(const std::string& path) {
    const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    std::string text;
    std::array<char, 4096> buffer{};
    while (fd && text.size() < kMaxConfBytes) {
        const auto count = ::read(fd.get(), buffer.data(), buffer.size());
        if (count <= 0) {
            break;
        }
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return parse_site(text);
}

}  // namespace stage

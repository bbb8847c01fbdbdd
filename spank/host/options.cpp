#include "spank/host/options.h"

#include "transport/base/written_value.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace stage {
namespace {

constexpr std::size_t kMaxConfBytes = 1U << 20U;
// The daemon's limits of StageTimeout; it refuses a file that exceeds them.
constexpr Duration kShortest = std::chrono::seconds{1};
constexpr Duration kLongest = std::chrono::hours{24};

/// "/scratch, /tmp/"
std::vector<std::string> paths_in(std::string_view list) {
    std::vector<std::string> paths;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        std::string path{trimmed(list.substr(0, end))};
        while (path.size() > 1 && path.ends_with('/')) {
            path.pop_back();
        }
        if (path.starts_with('/')) {
            paths.push_back(std::move(path));
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return paths;
}

void apply(Site& site, const KeyValue& entry) {
    if (same_word(entry.key, "Enabled")) {
        site.is_enabled = read_flag(entry.value).value_or(site.is_enabled);
    } else if (same_word(entry.key, "StageTimeout")) {
        const auto time = read_seconds(entry.value);
        if (time && *time >= kShortest && *time <= kLongest) {
            site.stage_timeout = *time;
        }
    } else if (same_word(entry.key, "StageFrom")) {
        site.is_script_first = same_word(entry.value, "prolog-script");
    } else if (same_word(entry.key, "OnNodeFault")) {
        site.may_drop = same_word(entry.value, "drop");
    } else if (same_word(entry.key, "DestRoots")) {
        site.dest_roots = paths_in(entry.value);
    } else if (same_word(entry.key, "MaxBytes")) {
        site.max_bytes = read_size(entry.value).value_or(site.max_bytes);
    } else if (same_word(entry.key, "StageReport")) {
        site.reports = read_flag(entry.value).value_or(site.reports);
    } else if (same_word(entry.key, "ClusterName")) {
        site.cluster_name = entry.value;
    }
}

}  // namespace

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
        if (const auto entry = read_key_value(text.substr(0, end))) {
            apply(site, *entry);
        }
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

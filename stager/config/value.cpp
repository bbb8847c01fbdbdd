#include "stager/config/value.h"

#include "transport/base/ip_address.h"
#include "transport/base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

namespace stage {
namespace {

constexpr std::size_t kNameMax = 255;

constexpr std::uint64_t kThousand = 1000;
constexpr std::uint64_t kMillion = kThousand * kThousand;
constexpr std::uint64_t kBillion = kMillion * kThousand;
constexpr std::uint64_t kTrillion = kBillion * kThousand;

constexpr std::array kBitRates{
    Unit{"tbit", kTrillion, 8},
    Unit{"gbit", kBillion, 8},
    Unit{"mbit", kMillion, 8},
    Unit{"kbit", kThousand, 8},
    Unit{"bit", 1, 8},
};

constexpr std::string_view kBroadcastWord = "broadcast";

std::optional<GroupAddress> read_group(std::string_view text) {
    in_addr address{};
    if (::inet_pton(AF_INET, std::string{text}.c_str(), &address) != 1) {
        return std::nullopt;
    }
    const GroupAddress group = ntohl(address.s_addr);
    constexpr GroupAddress kFirst = 0xe0000100U;  // 224.0.1.0: routers forward nothing below
    constexpr GroupAddress kLast = 0xefffffffU;
    return group >= kFirst && group <= kLast ? std::optional{group} : std::nullopt;
}

/// "a-b", or "a" for "a-a".
std::pair<std::string_view, std::string_view> ends(std::string_view text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) {
        return {trimmed(text), trimmed(text)};
    }
    return {trimmed(text.substr(0, dash)), trimmed(text.substr(dash + 1))};
}

std::string write_group(GroupAddress group) {
    return group == kBroadcastGroup ? std::string{kBroadcastWord} : to_string(ip_v4(group));
}

/// Returns nothing if one of them is invalid.
RailNames read_rails(std::string_view text) {
    RailNames rails;
    for (const std::string_view rail : split_list(text, '+')) {
        auto name = read_name(rail);
        if (!name || std::ranges::find(rails, *name) != rails.end()) {
            return {};
        }
        rails.push_back(*std::move(name));
    }
    return rails.size() <= kPolicyRailsMax ? rails : RailNames{};
}

}  // namespace

std::optional<std::uint64_t> read_count(std::string_view text) {
    const auto number = read_decimal(text);
    if (!number || number->fraction_of != 1 || !number->unit.empty()) {
        return std::nullopt;
    }
    return number->whole;
}

std::optional<std::uint64_t> read_rate(std::string_view text) {
    auto number = read_decimal(text);
    if (!number || number->unit.empty()) {
        return std::nullopt;
    }
    if (const auto bits = in_units(*number, kBitRates)) {
        return bits;
    }
    std::string_view& unit = number->unit;
    if (unit.size() > 2 && same_word(unit.substr(unit.size() - 2), "/s")) {
        unit.remove_suffix(2);
    }
    // "25M" is ambiguous: it could mean bits or bytes.
    if (unit.empty() || lower(unit.back()) != 'b') {
        return std::nullopt;
    }
    return in_units(*number, kSizeUnits);
}

std::optional<std::string> read_path(std::string_view text) {
    if (text.empty() || text.front() != '/') {
        return std::nullopt;
    }
    while (text.size() > 1 && text.back() == '/') {
        text.remove_suffix(1);
    }
    if (trimmed(text).size() != text.size()) {
        return std::nullopt;  // "/a /": printed without its slash it would be "/a".
    }
    for (std::size_t at = 1; at <= text.size() && text.size() > 1;) {
        const std::string_view name = text.substr(at, text.find('/', at) - at);
        if (name.empty() || name == "." || name == "..") {
            return std::nullopt;
        }
        at += name.size() + 1;
    }
    return std::string{text};
}

std::optional<std::string> read_name(std::string_view text) {
    constexpr std::string_view kOthers = "-_.:";
    for (const char c : text) {
        if (!is_digit(c) && !(lower(c) >= 'a' && lower(c) <= 'z') &&
            kOthers.find(c) == std::string_view::npos) {
            return std::nullopt;
        }
    }
    if (text.empty() || text.size() > kNameMax) {
        return std::nullopt;
    }
    return std::string{text};
}

std::vector<std::string_view> split_list(std::string_view text, char by) {
    std::vector<std::string_view> items;
    if (trimmed(text).empty()) {
        return items;
    }
    std::size_t at = 0;
    while (true) {
        const std::size_t comma = text.find(by, at);
        items.push_back(trimmed(text.substr(at, comma - at)));
        if (comma == std::string_view::npos) {
            return items;
        }
        at = comma + 1;
    }
}

std::optional<std::vector<RailNames>> read_interfaces(std::string_view text) {
    std::vector<RailNames> entries;
    for (const std::string_view item : split_list(text)) {
        entries.push_back(read_rails(item));
        if (entries.back().empty()) {
            return std::nullopt;
        }
    }
    return entries;
}

std::optional<std::vector<ConfigRange<GroupAddress>>> read_groups(std::string_view text) {
    std::vector<ConfigRange<GroupAddress>> groups;
    if (same_word(trimmed(text), kBroadcastWord)) {
        groups.push_back({.first = kBroadcastGroup, .last = kBroadcastGroup});
        return groups;
    }
    for (const std::string_view item : split_list(text)) {
        const auto [first_text, last_text] = ends(item);
        const auto first = read_group(first_text);
        const auto last = read_group(last_text);
        if (!first || !last || *first > *last) {
            return std::nullopt;
        }
        groups.push_back({.first = *first, .last = *last});
    }
    return groups.empty() ? std::nullopt : std::optional{groups};
}

std::optional<ConfigRange<std::uint16_t>> read_ports(std::string_view text) {
    const auto [first_text, last_text] = ends(text);
    const auto first = read_count(first_text);
    const auto last = read_count(last_text);
    if (!first || !last || *first == 0 || *first > *last || *last > 65'535) {
        return std::nullopt;
    }
    return ConfigRange<std::uint16_t>{.first = static_cast<std::uint16_t>(*first),
                                      .last = static_cast<std::uint16_t>(*last)};
}

std::string write_size(std::uint64_t bytes) {
    for (const Unit& unit : kPowersOf1024) {
        if (bytes != 0 && bytes % unit.factor == 0) {
            return std::to_string(bytes / unit.factor) + std::string{unit.name};
        }
    }
    return std::to_string(bytes);
}

std::string write_rate(std::uint64_t bytes_per_second) {
    std::uint64_t bits = 0;
    if (__builtin_mul_overflow(bytes_per_second, 8U, &bits)) {
        return std::to_string(bytes_per_second) + "B";
    }
    for (const Unit& unit : kBitRates) {
        if (bits % unit.factor == 0) {
            return std::to_string(bits / unit.factor) + std::string{unit.name};
        }
    }
    return std::to_string(bytes_per_second) + "B";
}

std::string write_seconds(Duration time) {
    const auto nanoseconds = static_cast<std::uint64_t>(time.count());
    std::string text = std::to_string(nanoseconds / kBillion);
    std::string decimals = std::to_string(kBillion + nanoseconds % kBillion).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    return decimals.empty() ? text : text + "." + decimals;
}

std::string write_groups(const std::vector<ConfigRange<GroupAddress>>& groups) {
    return joined(groups, ",", [](const ConfigRange<GroupAddress>& range) {
        const std::string first = write_group(range.first);
        return range.first == range.last ? first : first + "-" + write_group(range.last);
    });
}

std::string write_ports(const ConfigRange<std::uint16_t>& ports) {
    return std::to_string(ports.first) + "-" + std::to_string(ports.last);
}

std::string write_interfaces(const std::vector<RailNames>& entries) {
    return joined(entries, ",", write_rails);
}

std::string write_rails(const RailNames& rails) {
    return joined(rails, "+");
}

}  // namespace stage

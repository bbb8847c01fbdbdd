#include "stager/removal/subordinate_ids.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

namespace stage {
namespace {

std::optional<std::uint32_t> number_in(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = error == std::errc{} && end == text.data() + text.size();
    return is_whole ? std::optional{value} : std::nullopt;
}

}  // namespace

bool contains(const UidRanges& ranges, uid_t uid) {
    return std::ranges::any_of(ranges, [uid](const UidRange& range) {
        return uid >= range.first && uid - range.first < range.count;
    });
}

UidRanges subordinate_uids(uid_t uid, const std::string& name, const std::string& file) {
    UidRanges ranges;
    std::ifstream lines{file};
    for (std::string text; std::getline(lines, text);) {
        const std::string_view line{text};
        const std::size_t one = std::min(line.find(':'), line.size());
        const std::size_t two = std::min(line.find(':', one + 1), line.size());
        const std::string_view owner = line.substr(0, one);
        const bool is_owners = number_in(owner) == uid || (!name.empty() && owner == name);
        const auto first = number_in(line.substr(std::min(one + 1, two), two - one - 1));
        const auto count = number_in(line.substr(std::min(two + 1, line.size())));
        if (is_owners && first && count && *first != 0) {
            ranges.push_back({.first = *first, .count = *count});
        }
    }
    return ranges;
}

}  // namespace stage

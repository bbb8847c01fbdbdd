#include "stager/cli/push/folded_list.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

namespace stage {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kDigitsMax = 9;  ///< So that each number has 32 bits.

/// Names that differ only in `numbers`; `width`: that of their digits if padded, else 0.
struct Family {
    std::string before;
    std::string after;
    std::size_t width = 0;
    std::set<std::uint32_t> numbers;
};

struct Parts {
    std::string_view before;
    std::string_view digits;  ///< Empty: it has none, or too many.
    std::string_view after;
};

Parts parts_of(std::string_view name) {
    const std::size_t last = name.find_last_of(kDigits);
    if (last == std::string_view::npos) {
        return {.before = name, .digits = {}, .after = {}};
    }
    const std::size_t rest = name.find_last_not_of(kDigits, last);
    const std::size_t first = rest == std::string_view::npos ? 0 : rest + 1;
    if (last + 1 - first > kDigitsMax) {
        return {.before = name, .digits = {}, .after = {}};
    }
    return {.before = name.substr(0, first),
            .digits = name.substr(first, last + 1 - first),
            .after = name.substr(last + 1)};
}

/// "0-3,7"
std::string ranges_of(const Family& family) {
    const auto padded = [&](std::uint32_t number) {
        const std::string digits = std::to_string(number);
        return std::string(family.width - std::min(family.width, digits.size()), '0') + digits;
    };
    std::string text;
    for (auto at = family.numbers.begin(); at != family.numbers.end();) {
        const std::uint32_t first = *at;
        std::uint32_t last = first;
        while (++at != family.numbers.end() && *at == last + 1) {
            last = *at;
        }
        text += (text.empty() ? "" : ",") + padded(first);
        text += last == first ? "" : (last == first + 1 ? "," : "-") + padded(last);
    }
    return text;
}

/// "n[2]-ib" of "n07-ib".
std::string shape_of(const Parts& parts, std::size_t width) {
    return parts.digits.empty() ? std::string{parts.before}
                                : std::string{parts.before} + '[' + std::to_string(width) +
                                      ']' + std::string{parts.after};
}

/// A number without a zero in front is padded if another one of its width has one.
std::set<std::string> padded_shapes(const std::vector<std::string>& names) {
    std::set<std::string> padded;
    for (const std::string& name : names) {
        const Parts parts = parts_of(name);
        if (parts.digits.size() > 1 && parts.digits.front() == '0') {
            padded.insert(shape_of(parts, parts.digits.size()));
        }
    }
    return padded;
}

std::vector<Family> families_of(const std::vector<std::string>& names) {
    const std::set<std::string> padded = padded_shapes(names);
    std::vector<Family> families;
    std::map<std::string, std::size_t> places;
    for (const std::string& name : names) {
        const Parts parts = parts_of(name);
        const std::size_t width = parts.digits.size();
        const std::size_t kept = padded.contains(shape_of(parts, width)) ? width : 0;
        const auto [place, is_new] = places.try_emplace(shape_of(parts, kept), families.size());
        if (is_new) {
            families.push_back({.before = std::string{parts.before},
                                .after = std::string{parts.after},
                                .width = kept,
                                .numbers = {}});
        }
        if (width > 0) {
            families[place->second].numbers.insert(
                static_cast<std::uint32_t>(std::stoul(std::string{parts.digits})));
        }
    }
    return families;
}

}  // namespace

std::string folded_list(const std::vector<std::string>& names) {
    std::string text;
    for (const Family& family : families_of(names)) {
        const std::string ranges = ranges_of(family);
        text += (text.empty() ? "" : ",") + family.before;
        text += family.numbers.size() > 1 ? '[' + ranges + ']' : ranges;
        text += family.after;
    }
    return text;
}

}  // namespace stage

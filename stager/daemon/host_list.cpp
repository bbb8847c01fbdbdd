#include "stager/daemon/host_list.h"

#include "stager/control/message.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace stage {
namespace {

using Names = std::vector<std::string>;

Error malformed(std::string_view list) {
    return {Blame::internal, "not a node list: " + std::string{list.substr(0, 80)}};
}

/// "07" -> 7, or nothing.
std::optional<std::uint32_t> number_of(std::string_view digits) {
    std::uint32_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
        return std::nullopt;
    }
    return value;
}

std::string padded(std::uint32_t value, std::size_t width) {
    std::string digits = std::to_string(value);
    return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
}

/// "0-3" or "7", appended to `out`. False if it is neither or too long.
bool append_range(std::string_view range, Names& out) {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto first = number_of(low);
    const auto last = number_of(high);
    if (!first || !last || *last < *first || *last - *first >= kMaxNodes ||
        low.size() > kMaxNameBytes) {
        return false;
    }
    for (std::uint32_t value = *first; value <= *last; ++value) {
        out.push_back(padded(value, low.size()));
        if (value == *last) {
            break;  // The last may be the largest of its type.
        }
    }
    return out.size() <= kMaxNodes;
}

/// The inside of a bracket.
std::optional<Names> ranges(std::string_view inside) {
    Names out;
    while (true) {
        const std::size_t comma = inside.find(',');
        if (!append_range(inside.substr(0, comma), out)) {
            return std::nullopt;
        }
        if (comma == std::string_view::npos) {
            return out;
        }
        inside.remove_prefix(comma + 1);
    }
}

/// Every prefix with every ending.
std::optional<Names> product(const Names& prefixes, const Names& endings) {
    if (prefixes.size() * endings.size() > kMaxNodes) {
        return std::nullopt;
    }
    Names out;
    out.reserve(prefixes.size() * endings.size());
    for (const std::string& prefix : prefixes) {
        for (const std::string& ending : endings) {
            out.push_back(prefix + ending);
        }
    }
    return out;
}

bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return c > ' ' && c < '\x7f' && c != '[' && c != ']' && c != '/';
    });
}

/// A short list may ask for many long names.
bool are_short(const Names& names) {
    return std::all_of(names.begin(), names.end(), [](const std::string& name) {
        return name.size() <= kMaxNameBytes;
    });
}

/// One item, "r[0-1]n[0-3]".
std::optional<Names> expand_item(std::string_view item) {
    Names names{""};
    while (!item.empty()) {
        const std::size_t open = item.find('[');
        const std::string_view plain = item.substr(0, open);
        if (!is_plain(plain) || plain.size() > kMaxNameBytes) {
            return std::nullopt;
        }
        for (std::string& name : names) {
            name += plain;
        }
        if (open == std::string_view::npos) {
            break;
        }
        const std::size_t close = item.find(']', open);
        if (close == std::string_view::npos) {
            return std::nullopt;
        }
        const auto endings = ranges(item.substr(open + 1, close - open - 1));
        auto longer = endings ? product(names, *endings) : std::nullopt;
        if (!longer) {
            return std::nullopt;
        }
        names = std::move(*longer);
        if (!are_short(names)) {
            return std::nullopt;
        }
        item.remove_prefix(close + 1);
    }
    const bool is_good = !names.front().empty() && are_short(names);
    return is_good ? std::optional{std::move(names)} : std::nullopt;
}

/// The end of the item that begins at `from`: a comma outside of brackets, or the list's end.
std::size_t item_end(std::string_view list, std::size_t from) {
    bool inside = false;
    for (std::size_t at = from; at < list.size(); ++at) {
        if (list[at] == ',' && !inside) {
            return at;
        }
        inside = list[at] == '[' || (inside && list[at] != ']');
    }
    return list.size();
}

}  // namespace

Result<Names> expand_host_list(std::string_view list) {
    Names names;
    std::unordered_set<std::string> seen;
    std::size_t from = 0;
    std::size_t expanded = 0;
    while (from <= list.size()) {
        const std::size_t end = item_end(list, from);
        const auto item = expand_item(list.substr(from, end - from));
        // Duplicates count: a list of them is soon written, and long to expand.
        expanded += item ? item->size() : 0;
        if (!item || expanded > kMaxNodes) {
            return malformed(list);
        }
        for (const std::string& name : *item) {
            if (seen.insert(name).second) {
                names.push_back(name);
            }
        }
        from = end + 1;
    }
    return names;
}

std::optional<std::size_t> position_of(const Names& names, std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(found - names.begin());
}

}  // namespace stage

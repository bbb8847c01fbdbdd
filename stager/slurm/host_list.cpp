#include "stager/slurm/host_list.h"

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

/// Slurm's own names have no more dimensions.
constexpr std::size_t kMaxBrackets = 4;

/// Counts the characters that may still be built of a list, before they are built.
class Room {
  public:
    [[nodiscard]] bool take(std::size_t count, std::size_t length) {
        // Both are bounded by what a list may hold, so their product is, too.
        const std::size_t wanted = count * length;
        if (count > kMaxNodes || length > kMaxNameBytes || wanted > left_) {
            return false;
        }
        left_ -= wanted;
        return true;
    }

  private:
    std::size_t left_ = kMaxListCharacters;
};

/// Appends "0-3" or "7" to `out`. False if `range` is neither or too long.
bool append_range(std::string_view range, Room& room, Names& out) {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto first = number_of(low);
    const auto last = number_of(high);
    if (!first || !last || *last < *first || *last - *first >= kMaxNodes) {
        return false;
    }
    const std::size_t count = std::size_t{*last} - *first + 1;
    const std::size_t width = std::max(low.size(), std::to_string(*last).size());
    if (out.size() + count > kMaxNodes || !room.take(count, width)) {
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        out.push_back(padded(*first + static_cast<std::uint32_t>(i), low.size()));
    }
    return true;
}

/// The inside of a bracket.
std::optional<Names> ranges(std::string_view inside, Room& room) {
    Names out;
    while (true) {
        const std::size_t comma = inside.find(',');
        if (!append_range(inside.substr(0, comma), room, out)) {
            return std::nullopt;
        }
        if (comma == std::string_view::npos) {
            return out;
        }
        inside.remove_prefix(comma + 1);
    }
}

bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return c > ' ' && c < '\x7f' && c != '[' && c != ']' && c != '/';
    });
}

/// Splits "r[0-1]n[0-3]" into the values of its parts: "r"; "0", "1"; "n"; "0" to "3".
std::optional<std::vector<Names>> parts_of(std::string_view item, Room& room) {
    std::vector<Names> parts;
    std::size_t brackets = 0;
    while (!item.empty()) {
        const std::size_t open = item.find('[');
        const std::string_view plain = item.substr(0, open);
        if (!is_plain(plain) || plain.size() > kMaxNameBytes) {
            return std::nullopt;
        }
        parts.push_back({std::string{plain}});
        if (open == std::string_view::npos) {
            break;
        }
        const std::size_t close = item.find(']', open);
        if (close == std::string_view::npos || ++brackets > kMaxBrackets) {
            return std::nullopt;
        }
        auto endings = ranges(item.substr(open + 1, close - open - 1), room);
        if (!endings) {
            return std::nullopt;
        }
        parts.push_back(*std::move(endings));
        item.remove_prefix(close + 1);
    }
    return parts;
}

/// Every prefix with every ending.
Names product(const Names& prefixes, const Names& endings) {
    Names out;
    out.reserve(prefixes.size() * endings.size());
    for (const std::string& prefix : prefixes) {
        for (const std::string& ending : endings) {
            out.push_back(prefix + ending);
        }
    }
    return out;
}

/// One item, "r[0-1]n[0-3]".
std::optional<Names> expand_item(std::string_view item, Room& room) {
    const auto parts = parts_of(item, room);
    if (!parts || parts->empty()) {
        return std::nullopt;
    }
    std::size_t count = 1;
    std::size_t length = 0;
    for (const Names& part : *parts) {
        count *= part.size();
        length += std::ranges::max(part, {}, &std::string::size).size();
        if (!room.take(count, length)) {
            return std::nullopt;
        }
    }
    Names names{""};
    for (const Names& part : *parts) {
        names = product(names, part);
    }
    return names;
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
    Room room;
    while (from <= list.size()) {
        const std::size_t end = item_end(list, from);
        const auto item = expand_item(list.substr(from, end - from), room);
        // Duplicates count: a list of them is short to write, and long to expand.
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

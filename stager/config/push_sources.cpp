#include "stager/config/push_sources.h"

#include "stager/config/value.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::size_t kBitsOfByte = 8;

struct Network {
    IpAddress address;
    std::size_t prefix = 0;  ///< Bits.
};

std::optional<Network> read_network(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto address = parse_ip(std::string{text.substr(0, slash)});
    if (!address) {
        return std::nullopt;
    }
    const std::size_t all = address->length() * kBitsOfByte;
    if (slash == std::string_view::npos) {
        return Network{.address = *address, .prefix = all};
    }
    const auto prefix = read_count(text.substr(slash + 1));
    return prefix && *prefix <= all
               ? std::optional{Network{.address = *address,
                                       .prefix = static_cast<std::size_t>(*prefix)}}
               : std::nullopt;
}

/// True for a node list that host_list.h accepts; a text that looks like an address is none.
bool is_node_list(std::string_view text) {
    bool is_open = false;
    for (const char letter : text) {
        if ((letter == '[' && is_open) || (letter == ']' && !is_open)) {
            return false;
        }
        is_open = letter == '[' || (is_open && letter != ']');
    }
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.[],";
    return !text.empty() && !is_open &&
           text.find_first_not_of(kLetters) == std::string_view::npos &&
           text.find_first_not_of("0123456789.") != std::string_view::npos;
}

/// Splits at commas outside of brackets.
std::vector<std::string> entries_of(std::string_view text) {
    std::vector<std::string> entries;
    std::size_t from = 0;
    bool is_inside = false;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        const char letter = at < text.size() ? text[at] : ',';
        is_inside = at < text.size() && (letter == '[' || (is_inside && letter != ']'));
        if (letter == ',' && !is_inside) {
            entries.emplace_back(trimmed(text.substr(from, at - from)));
            from = at + 1;
        }
    }
    return entries;
}

}  // namespace

std::optional<std::vector<std::string>> read_push_sources(std::string_view text) {
    if (trimmed(text).empty()) {
        return std::vector<std::string>{};
    }
    auto entries = entries_of(text);
    const bool is_sound = std::ranges::all_of(entries, [](const std::string& entry) {
        return is_network(entry) || is_node_list(entry);
    });
    return is_sound ? std::optional{std::move(entries)} : std::nullopt;
}

bool is_network(const std::string& source) {
    return read_network(source).has_value();
}

bool is_in_network(const IpAddress& address, const std::string& source) {
    const auto network = read_network(source);
    if (!network || network->address.family != address.family) {
        return false;
    }
    for (std::size_t bit = 0; bit < network->prefix; ++bit) {
        const std::size_t at = bit / kBitsOfByte;
        const auto mask = std::byte{0x80} >> (bit % kBitsOfByte);
        if ((address.octets.at(at) & mask) != (network->address.octets.at(at) & mask)) {
            return false;
        }
    }
    return true;
}

}  // namespace stage

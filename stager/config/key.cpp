#include "stager/config/key.h"

#include "stager/config/push_sources.h"
#include "stager/config/value.h"
#include "transport/base/ip_address.h"
#include "transport/base/text.h"

#include <pwd.h>

#include <algorithm>
#include <limits>

namespace stage {
namespace {

template <class... Cases>
struct Match : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

constexpr std::uint64_t kGroupsMax = 65'536;

/// A key's value, in the configuration itself or in its policies.
template <class Any, class Value>
auto& value_in(Any& config, Value Config::*member) {
    return config.*member;
}
template <class Any, class Value>
auto& value_in(Any& config, Value Policies::*member) {
    return config.policies.*member;
}

template <class Kind, class Value>
bool within(const Kind& kind, const std::optional<Value>& value) {
    return value && *value >= kind.lowest && *value <= kind.highest;
}

bool read_count_into(const CountKey& kind, Config& config, std::string_view text) {
    const auto count = read_count(text);
    if (!within(kind, count)) {
        return false;
    }
    std::visit(
        [&](auto member) {
            auto& value = value_in(config, member);
            value = static_cast<std::remove_reference_t<decltype(value)>>(*count);
        },
        kind.member);
    return true;
}

bool read_choice_into(const ChoiceKey& kind, Config& config, std::string_view text) {
    return std::visit(
        [&](auto member) {
            auto& value = value_in(config, member);
            const auto choice = read_choice<std::remove_reference_t<decltype(value)>>(text);
            value = choice.value_or(value);
            return choice.has_value();
        },
        kind.member);
}

template <class Owner, class Choice>
std::string words_for(Choice Owner::* /*member*/) {
    return joined(words(Choice{}), ", ");
}

/// The text before the first `mark`, and that after it.
std::pair<std::string_view, std::string_view> divided(std::string_view text, char mark) {
    const std::size_t at = text.find(mark);
    return at == std::string_view::npos ? std::pair{text, std::string_view{}}
                                        : std::pair{text.substr(0, at), text.substr(at + 1)};
}

template <class Reader>
bool read_list_into(std::vector<std::string>& list, std::string_view text, Reader reader) {
    std::vector<std::string> items;
    for (const std::string_view item : split_list(text)) {
        auto value = reader(item);
        if (!value) {
            return false;
        }
        items.push_back(std::move(*value));
    }
    list = std::move(items);
    return true;
}

bool read_groups_into(const GroupsKey& kind, Config& config, std::string_view text) {
    auto groups = read_groups(text);
    std::uint64_t count = 0;
    for (const auto& range : groups ? *groups : std::vector<ConfigRange<GroupAddress>>{}) {
        count += std::uint64_t{range.last - range.first} + 1;
    }
    if (count == 0 || count > kGroupsMax) {
        return false;
    }
    config.*kind.member = std::move(*groups);
    return true;
}

bool read_user_into(const UserKey& kind, Config& config, std::string_view text) {
    if (text.empty()) {
        (config.*kind.member).reset();
        return true;
    }
    if (const auto number = read_count(text)) {
        const bool fits = *number < std::numeric_limits<uid_t>::max();
        if (fits) {
            config.*kind.member = static_cast<uid_t>(*number);
        }
        return fits;
    }
    std::vector<char> buffer(16'384);
    passwd entry{};
    passwd* found = nullptr;
    const std::string name{text};
    if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
        found == nullptr) {
        return false;
    }
    config.*kind.member = found->pw_uid;
    return true;
}

/// Sets `member` if there is a value within the kind's limits.
template <class Kind, class Value>
bool set_within(const Kind& kind, Config& config, const std::optional<Value>& value) {
    if (!within(kind, value)) {
        return false;
    }
    config.*kind.member = *value;
    return true;
}

bool read_named_into(const NamedListKey& kind, Config& config, std::string_view text) {
    std::vector<NamedText> items;
    for (const std::string_view item : split_list(text)) {
        const auto [name, value] = divided(item, '=');
        const auto [cluster, gateway] = divided(name, '/');
        const bool is_named = read_name(cluster) && (!kind.is_route || read_name(gateway)) &&
                              (kind.is_route || gateway.empty());
        const bool has_value = kind.is_route ? parse_ip(std::string{value}).has_value()
                                             : read_path(value).has_value();
        if (!is_named || !has_value) {
            return false;
        }
        items.push_back({.name = std::string{name}, .value = std::string{value}});
    }
    config.*kind.member = std::move(items);
    return true;
}

template <class Kind, class Value>
bool set(const Kind& kind, Config& config, std::optional<Value> value) {
    if (!value) {
        return false;
    }
    config.*kind.member = std::move(*value);
    return true;
}

/// Rejects separators: "/tmp;/var/tmp" is never meant as one path.
std::optional<std::string> read_listed_path(std::string_view text) {
    for (const std::string_view other : {";/", ":/", " /"}) {
        if (text.find(other) != std::string_view::npos) {
            return std::nullopt;
        }
    }
    return read_path(text);
}

}  // namespace

bool read_into(const KeyKind& kind, Config& config, std::string_view text) {
    return std::visit(
        Match{
            [&](const FlagKey& key) { return set(key, config, read_flag(text)); },
            [&](const CountKey& key) { return read_count_into(key, config, text); },
            [&](const SizeKey& key) { return set_within(key, config, read_size(text)); },
            [&](const RateKey& key) { return set_within(key, config, read_rate(text)); },
            [&](const TimeKey& key) { return set_within(key, config, read_seconds(text)); },
            [&](const PathKey& key) {
                const bool none = key.optional && text.empty();
                return set(
                    key, config, none ? std::optional<std::string>{""} : read_path(text));
            },
            [&](const NameKey& key) {
                return set(key,
                           config,
                           text.empty() ? std::optional<std::string>{""} : read_name(text));
            },
            [&](const NameListKey& key) {
                return read_list_into(config.*key.member, text, read_name);
            },
            [&](const NamedListKey& key) { return read_named_into(key, config, text); },
            [&](const PathListKey& key) {
                return read_list_into(config.*key.member, text, read_listed_path);
            },
            [&](const SourcesKey& key) { return set(key, config, read_push_sources(text)); },
            [&](const InterfacesKey& key) { return set(key, config, read_interfaces(text)); },
            [&](const GroupsKey& key) { return read_groups_into(key, config, text); },
            [&](const PortsKey& key) { return set(key, config, read_ports(text)); },
            [&](const ChoiceKey& key) { return read_choice_into(key, config, text); },
            [&](const UserKey& key) { return read_user_into(key, config, text); },
        },
        kind);
}

std::string text_of(const KeyKind& kind, const Config& config) {
    using Text = std::string;
    return std::visit(
        Match{
            [&](const FlagKey& key) -> Text { return config.*key.member ? "yes" : "no"; },
            [&](const CountKey& key) -> Text {
                return std::visit(
                    [&](auto member) { return std::to_string(value_in(config, member)); },
                    key.member);
            },
            [&](const SizeKey& key) -> Text { return write_size(config.*key.member); },
            [&](const RateKey& key) -> Text { return write_rate(config.*key.member); },
            [&](const TimeKey& key) -> Text { return write_seconds(config.*key.member); },
            [&](const PathKey& key) -> Text { return config.*key.member; },
            [&](const NameKey& key) -> Text { return config.*key.member; },
            [&](const NameListKey& key) -> Text { return joined(config.*key.member, ","); },
            [&](const NamedListKey& key) -> Text {
                return joined(config.*key.member, ",", [](const NamedText& item) {
                    return item.name + "=" + item.value;
                });
            },
            [&](const PathListKey& key) -> Text { return joined(config.*key.member, ","); },
            [&](const SourcesKey& key) -> Text { return joined(config.*key.member, ","); },
            [&](const InterfacesKey& key) -> Text {
                return write_interfaces(config.*key.member);
            },
            [&](const GroupsKey& key) -> Text { return write_groups(config.*key.member); },
            [&](const PortsKey& key) -> Text { return write_ports(config.*key.member); },
            [&](const ChoiceKey& key) -> Text {
                return std::visit(
                    [&](auto member) { return Text{word_of(value_in(config, member))}; },
                    key.member);
            },
            [&](const UserKey& key) -> Text {
                const auto& user = config.*key.member;
                return user ? std::to_string(*user) : Text{};
            },
        },
        kind);
}

std::string allowed(const KeyKind& kind) {
    using Text = std::string;
    return std::visit(
        Match{
            [](const FlagKey&) -> Text { return "yes or no"; },
            [](const CountKey& key) -> Text {
                return std::to_string(key.lowest) + " to " + std::to_string(key.highest);
            },
            [](const SizeKey& key) -> Text {
                return "a size such as 10G, " + write_size(key.lowest) + " to " +
                       write_size(key.highest);
            },
            [](const RateKey& key) -> Text {
                return "a rate such as 200mbit, 1gbit or 25MB (per second), " +
                       write_rate(key.lowest) + " to " + write_rate(key.highest);
            },
            [](const TimeKey& key) -> Text {
                return "seconds, " + write_seconds(key.lowest) + " to " +
                       write_seconds(key.highest);
            },
            [](const PathKey& key) -> Text {
                return key.optional ? "an absolute path, or nothing" : "an absolute path";
            },
            [](const NameKey&) -> Text { return "a node's name, or nothing"; },
            [](const NameListKey&) -> Text { return "names separated by commas"; },
            [](const NamedListKey& key) -> Text {
                return key.is_route ? "items CLUSTER/GATEWAY=ADDRESS separated by commas, such "
                                      "as clusterb/gw1=192.0.2.7"
                                    : "items CLUSTER=FILE separated by commas, such as "
                                      "clusterb=/etc/stagecast/clusterb.key";
            },
            [](const PathListKey&) -> Text { return "absolute paths separated by commas"; },
            [](const SourcesKey&) -> Text {
                return "node lists, addresses and networks separated by commas, such as "
                       "login[1-2],10.1.0.7,10.2.0.0/16";
            },
            [](const InterfacesKey&) -> Text {
                return "names of network interfaces separated by commas, or up to " +
                       std::to_string(kPolicyRailsMax) + " different ones joined by +";
            },
            [](const GroupsKey&) -> Text {
                return "IPv4 multicast addresses or ranges of them separated by commas, such "
                       "as "
                       "239.192.1.0-239.192.1.15, at most 65536 in all, none below 224.0.1.0; "
                       "or broadcast";
            },
            [](const PortsKey&) -> Text { return "a range of ports such as 6830-6893"; },
            [](const ChoiceKey& key) -> Text {
                return std::visit([](auto member) { return words_for(member); }, key.member);
            },
            [](const UserKey&) -> Text {
                return "a user of this system by name or number, or nothing";
            },
        },
        kind);
}

}  // namespace stage

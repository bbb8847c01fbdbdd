// The kinds of keys in stagecast.conf, and how their values are read, checked, printed and
// described.
//
// A kind is a member of Config with its limits. The table (table.cpp) consists of these; other
// code handles all kinds alike through read_into(), text_of() and allowed().
#pragma once

#include "stager/config/config.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stage {

struct FlagKey {
    bool Config::*member;
};
/// A number; its member in Config or its policies may have 8, 16 or 32 bits.
struct CountKey {
    std::variant<std::uint16_t Config::*, std::uint32_t Config::*, std::uint8_t Policies::*>
        member;
    std::uint32_t lowest;
    std::uint32_t highest;
};
struct SizeKey {
    std::uint64_t Config::*member;
    std::uint64_t lowest;
    std::uint64_t highest;
};
struct RateKey {
    std::uint64_t Config::*member;
    std::uint64_t lowest;
    std::uint64_t highest;
};
struct TimeKey {
    Duration Config::*member;
    Duration lowest;
    Duration highest;
};
/// An absolute path; `optional`: or empty.
struct PathKey {
    std::string Config::*member;
    bool optional;
};
/// A node's name, or empty.
struct NameKey {
    std::string Config::*member;
};
/// Names separated by commas.
struct NameListKey {
    std::vector<std::string> Config::*member;
};
/// CLUSTER=FILE or CLUSTER/GATEWAY=ADDRESS, separated by commas.
struct NamedListKey {
    std::vector<NamedText> Config::*member;
    bool is_route;
};
struct PathListKey {
    std::vector<std::string> Config::*member;
};
/// See push_sources.h.
struct SourcesKey {
    std::vector<std::string> Config::*member;
};
struct InterfacesKey {
    std::vector<RailNames> Config::*member;
};
struct GroupsKey {
    std::vector<ConfigRange<GroupAddress>> Config::*member;
};
struct PortsKey {
    ConfigRange<std::uint16_t> Config::*member;
};
/// One of the words() of an enumeration.
struct ChoiceKey {
    std::variant<Protection Config::*,
                 Transport Config::*,
                 WideArea Config::*,
                 Compress Config::*,
                 StageFrom Config::*,
                 LogLevel Config::*,
                 OnNodeFault Config::*,
                 RatePolicy Policies::*,
                 PeerPolicy Policies::*,
                 ReadinessPolicy Policies::*>
        member;
};
/// A user of this system by name or number, or empty.
struct UserKey {
    std::optional<uid_t> Config::*member;
};

using KeyKind = std::variant<FlagKey,
                             CountKey,
                             SizeKey,
                             RateKey,
                             TimeKey,
                             PathKey,
                             NameKey,
                             NameListKey,
                             NamedListKey,
                             PathListKey,
                             SourcesKey,
                             InterfacesKey,
                             GroupsKey,
                             PortsKey,
                             ChoiceKey,
                             UserKey>;

/// When a changed value takes effect after the daemon has read the file again.
enum class Reread : unsigned char {
    at_once,     ///< For stages that begin after that.
    at_restart,  ///< After a restart: running parts depend on it.
};

/// An entry of the table.
struct ConfigKey {
    std::string_view name;
    KeyKind kind;
    std::string_view fallback;  ///< The default, as written in the file.
    std::string_view help;      ///< One or two sentences.
    Reread reread = Reread::at_once;
};

/// The text printed for a key that is read at_restart.
inline constexpr std::string_view kAtRestart =
    "A change takes effect when stagecastd is restarted.";

/// The table (table.cpp), in printing order.
[[nodiscard]] std::span<const ConfigKey> config_keys();
/// Finds an entry, ignoring case; nullptr if there is none.
[[nodiscard]] const ConfigKey* find_key(std::string_view name);
/// The error text for an unknown key.
[[nodiscard]] std::string unknown_key(std::string_view name);

/// Sets the key's member of `config` from `text`; returns false and changes nothing if the
/// value is not allowed.
[[nodiscard]] bool read_into(const KeyKind& kind, Config& config, std::string_view text);
/// The member's value as written in the file.
[[nodiscard]] std::string text_of(const KeyKind& kind, const Config& config);
/// "1 to 256", "yes or no", ...
[[nodiscard]] std::string allowed(const KeyKind& kind);

}  // namespace stage

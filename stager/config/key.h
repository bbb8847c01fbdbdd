// Which kinds of keys are there, and how does one read, check, print and describe its value?
//
// A kind is a member of Config and its limits. config.cpp's table is made of these; the rest of
// the folder treats them alike through read_into(), text_of() and allowed().
#pragma once

#include "stager/config/config.h"

#include <array>
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
/// A number; Config keeps it as wide as it needs.
struct CountKey {
    std::variant<std::uint16_t Config::*, std::uint32_t Config::*> member;
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
/// An absolute path; `optional`: or nothing.
struct PathKey {
    std::string Config::*member;
    bool optional;
};
/// A node's name, or nothing.
struct NameKey {
    std::string Config::*member;
};
struct PathListKey {
    std::vector<std::string> Config::*member;
};
/// push_sources.h
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
/// One of a few words; the enumeration's value is the word's place.
struct ChoiceKey {
    std::variant<Protection Config::*,
                 Transport Config::*,
                 Compress Config::*,
                 StageFrom Config::*,
                 LogLevel Config::*,
                 RateControl Config::*,
                 GroupLeave Config::*,
                 OnNodeFault Config::*,
                 RepairPeers Config::*,
                 ReadyWait Config::*>
        member;
    std::array<std::string_view, 4> words;  ///< Unused ones empty, at the end.
};
/// A user of this system by name or number, or nothing.
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
                             PathListKey,
                             SourcesKey,
                             InterfacesKey,
                             GroupsKey,
                             PortsKey,
                             ChoiceKey,
                             UserKey>;

/// What happens to a key that was changed when the daemon is told to read the file again.
enum class Reread : unsigned char {
    at_once,     ///< In force for stages that begin from then on.
    at_restart,  ///< Something that runs rests on the old value.
};

/// A line of the table.
struct ConfigKey {
    std::string_view name;
    KeyKind kind;
    std::string_view fallback;  ///< The default, as one would write it.
    std::string_view help;      ///< One or two sentences.
    Reread reread = Reread::at_once;
};

/// What is printed beside such a key.
inline constexpr std::string_view kAtRestart =
    "A change takes effect when stagecastd is restarted.";

/// The table (table.cpp), in the order in which it is printed.
[[nodiscard]] std::span<const ConfigKey> config_keys();
/// A line of the table, case aside; nullptr if there is none.
[[nodiscard]] const ConfigKey* find_key(std::string_view name);
/// What to say of a name that no key has.
[[nodiscard]] std::string unknown_key(std::string_view name);

/// Sets the key's member of `config` from `text`; false and no change if that is not allowed.
[[nodiscard]] bool read_into(const KeyKind& kind, Config& config, std::string_view text);
/// The member's value as it would be written.
[[nodiscard]] std::string text_of(const KeyKind& kind, const Config& config);
/// "1 to 256", "yes or no", ...
[[nodiscard]] std::string allowed(const KeyKind& kind);

}  // namespace stage

// What does the engine's command line say?
//
// One table of options (Boost.Program_options) that also prints --help. Every value is checked
// here, with a sentence that names the option, so that the engine gets nothing it must doubt.
#pragma once

#include "stager/config/config.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/seal/keys.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace stage {

struct EngineOptions {
    bool wants_help = false;
    bool wants_version = false;
    /// Alone: would it find place and room, or is the same content there?
    enum class Look : unsigned char { none, room, content } look = Look::none;
    std::string manifest;     ///< What to look for at the destination, hexadecimal.
    std::string hosts;        ///< A file of addresses; empty: PMIx says who the members are.
    std::string group;        ///< Instead: "-" or a credential, see group_order.h.
    Rank rank;                ///< With `hosts`.
    Rank root;                ///< Who has the file.
    std::string source;       ///< Absolute; only at the root.
    std::string destination;  ///< Absolute, with its final "/" if one was given; may be empty.
    bool is_durable = false;  ///< On the disk before it has its name.
    std::vector<RailNames> interfaces;  ///< Empty: the one that has the own address.
    std::uint8_t ttl = 1;               ///< Of multicast.
    std::uint8_t dscp = 8;              ///< Of all packets.
    std::uint16_t port = 0;             ///< TCP, where rank 0 meets the others.
    std::uint64_t rate_max = 0;         ///< No faster, bits per second; 0: no bound.
    std::uint64_t rate_told = 0;        ///< At it, bits per second; 0: it is looked for.
    bool may_compress = true;           ///< While that makes it faster.
    std::uint64_t rate_remembered = 0;  ///< What an earlier broadcast found, bits per second.
    Policies policies;
    seal::Protection protection = seal::Protection::encrypt;
    std::chrono::milliseconds timeout{0};
    std::chrono::milliseconds connect_timeout{0};  ///< For the members to meet.
    std::chrono::milliseconds stall_timeout{0};
    std::string key_file;
};

/// `arguments` without the program's name; `directory` makes relative paths absolute. An error
/// is the caller's misuse (exit code 64).
[[nodiscard]] Result<EngineOptions> parse_engine_options(
    const std::vector<std::string>& arguments, const std::string& directory);

[[nodiscard]] std::string engine_help();

}  // namespace stage

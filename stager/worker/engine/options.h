// Parses the engine's command line.
//
// One table of options (Boost.Program_options) that also prints --help. Every value is checked
// here, and an error message names the option, so that the engine receives valid values only.
#pragma once

#include "stager/config/config.h"
#include "stager/config/relay_choice.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/settings/policies.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace stage {

struct EngineOptions {
    bool wants_help = false;
    bool wants_version = false;
    /// Inspects this host only: the space at the destination, or the content there.
    enum class Look : unsigned char { none, room, content } look = Look::none;
    std::string manifest;     ///< The content to compare with at the destination, hexadecimal.
    std::string hosts;        ///< A file of addresses; empty: PMIx knows the members.
    std::string group;        ///< Instead: "-" or a credential, see group_order.h.
    Rank rank;                ///< With `hosts`.
    Rank root;                ///< The member that has the file.
    std::string source;       ///< Absolute; only at the root.
    std::string destination;  ///< Absolute, with its final "/" if one was given; may be empty.
    bool is_durable = false;  ///< Sync the file to the disk before it gets its name.
    std::vector<RailNames> interfaces;  ///< Empty: the interface with this member's address.
    Transport transport = Transport::automatic;
    RelayShape relay = RelayShape::automatic;  ///< With tcp; the root's counts.
    bool broadcasts = false;                   ///< To all hosts of the LAN, not to a group.
    std::uint8_t ttl = 1;                      ///< The TTL of multicast packets.
    std::uint8_t dscp = 8;                     ///< The DSCP of all packets.
    std::uint16_t port = 0;             ///< The TCP port on which rank 0 meets the others.
    std::uint64_t rate_max = 0;         ///< Upper limit, bits per second; 0: no limit.
    std::uint64_t configured_rate = 0;  ///< Bits per second; 0: the source searches for it.
    bool may_compress = true;           ///< While compression increases the throughput.
    std::uint64_t rate_remembered = 0;  ///< Found by an earlier broadcast, bits per second.
    Policies policies;
    Protection protection = Protection::encrypt;
    std::chrono::milliseconds timeout{0};
    std::chrono::milliseconds connect_timeout{0};  ///< For the members to meet.
    std::chrono::milliseconds stall_timeout{0};
    std::string key_file;
};

/// `arguments` exclude the program's name; `directory` makes relative paths absolute. An error
/// means wrong use of the command (exit code 64).
[[nodiscard]] Result<EngineOptions> parse_engine_options(
    const std::vector<std::string>& arguments, const std::string& directory);

[[nodiscard]] std::string engine_help();

}  // namespace stage

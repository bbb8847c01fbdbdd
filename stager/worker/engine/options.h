// Parses the engine's command line.
//
// One table of options (Boost.Program_options) that also prints --help. Every value is checked
// here, and an error message names the option, so that the engine receives valid values only.
#pragma once

#include "stager/config/config.h"
#include "stager/config/relay_choice.h"
#include "transport/base/ip_address.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/settings/policies.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage {

struct EngineOptions {
    bool wants_help = false;
    bool wants_version = false;
    /// Inspects this host only: the space at the destination, or the content there.
    enum class Look : unsigned char { none, room, content } look = Look::none;
    std::string manifest;  ///< The content to compare with at the destination, hexadecimal.
    std::uint16_t members = 0;  ///< With the source; 0 only with `look`.
    /// The host of the launcher: the interface that leads to it is used if none is named.
    std::optional<IpAddress> towards;
    std::string source;       ///< Absolute; the member that has one is the source.
    std::string destination;  ///< Absolute, with its final "/" if one was given; may be empty.
    bool is_durable = false;  ///< Sync the file to the disk before it gets its name.
    std::vector<RailNames> interfaces;  ///< Empty: see `towards`, then the site's.
    Transport transport = Transport::automatic;
    RelayShape relay = RelayShape::automatic;  ///< With tcp; the source's counts.
    bool broadcasts = false;                   ///< To all hosts of the LAN, not to a group.
    std::uint8_t ttl = 1;                      ///< The TTL of multicast packets.
    std::uint8_t dscp = 8;                     ///< The DSCP of all packets.
    std::uint64_t rate_max = 0;                ///< Upper limit, bits per second; 0: no limit.
    std::uint64_t configured_rate = 0;  ///< Bits per second; 0: the source searches for it.
    bool may_compress = true;           ///< While compression increases the throughput.
    std::uint64_t rate_remembered = 0;  ///< Found by an earlier broadcast, bits per second.
    Policies policies;
    Protection protection = Protection::encrypt;
    std::chrono::milliseconds timeout{0};
    std::chrono::milliseconds connect_timeout{0};  ///< For the members to meet.
    std::chrono::milliseconds stall_timeout{0};
};

/// `arguments` exclude the program's name; `directory` makes relative paths absolute. An error
/// means wrong use of the command (exit code 64).
[[nodiscard]] Result<EngineOptions> parse_engine_options(
    const std::vector<std::string>& arguments, const std::string& directory);

[[nodiscard]] std::string engine_help();

}  // namespace stage

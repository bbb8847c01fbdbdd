// Chooses between multicast and the relay over TCP.
//
// A pure decision on what is known: the configuration before the members meet, their cards
// after that, and before the first byte of data also which of them do not hear the group. The
// source asks again whenever it knows more. docs/protocol/relay.md, 16.6.
#pragma once

#include "transport/base/result.h"
#include "transport/settings/choices.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The group's address if its packets go to all hosts of the LAN (MulticastGroups=broadcast).
inline constexpr std::string_view kBroadcastAddress = "255.255.255.255";

struct TransportFacts {
    Transport configured = Transport::automatic;
    bool has_interface = true;  ///< Interface= names one for the multicast.
    bool broadcasts = false;    ///< To kBroadcastAddress; else to a multicast group.
    /// Members, by name, that listen on no TCP port.
    std::vector<std::string> without_port{};
    /// Members that run and do not hear the group; empty: none is known.
    std::vector<std::string> unreached{};
};

struct TransportChoice {
    enum class Way : unsigned char { multicast, relay };

    Way way = Way::multicast;
    std::string why;      ///< Why it is this one,
    std::string why_not;  ///< and why not the other one.
    /// What the source does if it learns of members that do not hear the group.
    UnreachedPolicy if_unreached = UnreachedPolicy::fetch;
    std::optional<Error> failure{};  ///< The configured transport cannot reach every member.
};

[[nodiscard]] TransportChoice choose_transport(const TransportFacts& facts);

/// "udp multicast", "verbs multicast", "udp broadcast" or "tcp unicast". `fabric`: that of a
/// member's packets; anything that has no multicast counts as udp.
[[nodiscard]] std::string to_string(TransportChoice::Way way,
                                    bool broadcasts,
                                    std::string_view fabric = "udp");

}  // namespace stage

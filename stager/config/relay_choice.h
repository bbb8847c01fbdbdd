// Chooses how the members of a relay are arranged: as a chain, a tree, or two trees.
//
// A chain moves each byte over each link once, but its end is members - 1 hops away; with more
// children a member's link carries the object several times, and the end is nearer. Two trees
// have both advantages if the object has several blocks. But where a member of a tree fails or
// is slow, the others notice it, and in a chain they hardly do: so two trees have to save time.
#pragma once

#include "transport/settings/choices.h"
#include "transport/settings/scheme.h"

#include <cstdint>
#include <string>

namespace stage {

/// What can be sent in the time that a chunk takes to pass a member: the chunk's own length,
/// and what 10 Gbit/s carry in the 100 us that network and process take.
inline constexpr std::uint64_t kRelayHopBytes = (16U << 10U) + 125'000U;

struct RelayFacts {
    std::uint64_t object_bytes = 0;
    std::uint32_t members = 2;  ///< With the source.
    RelayShape asked = RelayShape::automatic;
    std::uint64_t hop_bytes = kRelayHopBytes;
};

struct RelayChoice {
    Relay relay{};
    std::string why;  ///< What it is, and why: for users.
};

/// What lets the last member have the object first.
[[nodiscard]] RelayChoice choose_relay(const RelayFacts& facts);

}  // namespace stage

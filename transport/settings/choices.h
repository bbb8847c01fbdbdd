// The choices that a site or a caller makes for a broadcast, and the words for them.
//
// Each is one enumeration from stagecast.conf and the command line down to the core. Messages
// have an enumerator's number; words() lists the words in the order of these numbers.
#pragma once

#include "transport/base/written_value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stage {

/// Which receivers the source's rate follows if none is configured (docs/protocol, 6.3).
enum class RatePolicy : std::uint8_t {
    quantile = 0,  ///< What most receivers take.
    acker = 1,     ///< The slowest receiver.
};
constexpr auto words(RatePolicy /*any*/) {
    return std::array<std::string_view, 2>{"quantile", "acker"};
}

/// Which peer a receiver asks for missing chunks (7.3).
enum class PeerPolicy : std::uint8_t {
    random = 0,  ///< A random member.
    ring = 1,    ///< The nearest preceding member in the ring of ranks that has the chunk.
};
constexpr auto words(PeerPolicy /*any*/) {
    return std::array<std::string_view, 2>{"random", "ring"};
}

/// When the source sends its first chunk (5).
enum class ReadinessPolicy : std::uint8_t {
    fence = 0,  ///< When every member has answered an OFFER.
    none = 1,   ///< At once; a late member requests what it missed.
};
constexpr auto words(ReadinessPolicy /*any*/) {
    return std::array<std::string_view, 2>{"fence", "none"};
}

/// What the source does about receivers that run and do not hear the group, before it sends any
/// data (7.8). No key: it follows from Transport=.
enum class UnreachedPolicy : std::uint8_t {
    fetch,  ///< The receivers fetch the object by repair requests.
    relay,  ///< The group goes on by a relay.
    fail,   ///< The receivers fail.
};

/// The protection that a packet's tag gives.
enum class Protection : std::uint8_t {
    none = 0,     ///< CRC32C detects accidents, not forgery. For isolated fabrics.
    auth = 1,     ///< Forgery is detected; any host on the fabric can read.
    encrypt = 2,  ///< Forgery is detected and no other host can read. The default.
};
constexpr auto words(Protection /*any*/) {
    return std::array<std::string_view, 3>{"none", "auth", "encrypt"};
}

enum class Transport : std::uint8_t {
    automatic = 0,  ///< Multicast by UDP where it reaches every member, otherwise the relay.
    udp = 1,        ///< Multicast.
    tcp = 2,        ///< The relay, from member to member.
    verbs = 3,      ///< By InfiniBand's or RoCE's datagrams where all can, otherwise as auto.
};
constexpr auto words(Transport /*any*/) {
    return std::array<std::string_view, 4>{"auto", "udp", "tcp", "verbs"};
}

/// By what a leg between two clusters goes.
enum class WideArea : std::uint8_t {
    automatic = 0,  ///< By a hop over UDP if that passes, otherwise by TCP.
    tcp = 1,
};
constexpr auto words(WideArea /*any*/) {
    return std::array<std::string_view, 2>{"auto", "tcp"};
}

/// True if a broadcast may go by the relay where multicast does not reach every member.
constexpr bool may_relay(Transport transport) {
    return transport == Transport::automatic || transport == Transport::verbs;
}

/// How the members of a relay are arranged; a group's root may ask for one.
enum class RelayShape : std::uint8_t {
    automatic = 0,  ///< The better one by the sizes of the group and the object.
    chain = 1,
    two_trees = 2,
};
constexpr auto words(RelayShape /*any*/) {
    return std::array<std::string_view, 3>{"auto", "chain", "trees"};
}

/// The choice with the highest number.
template <class Choice>
[[nodiscard]] constexpr Choice last_of() {
    return static_cast<Choice>(words(Choice{}).size() - 1);
}

template <class Choice>
[[nodiscard]] constexpr std::string_view word_of(Choice choice) {
    return words(choice).at(static_cast<std::size_t>(choice));
}

/// Case aside. Empty if `text` is none of the choice's words.
template <class Choice>
[[nodiscard]] std::optional<Choice> read_choice(std::string_view text) {
    const auto all = words(Choice{});
    const auto found = std::ranges::find_if(
        all, [text](std::string_view word) { return same_word(word, text); });
    return found != all.end() ? std::optional{static_cast<Choice>(found - all.begin())}
                              : std::nullopt;
}

}  // namespace stage

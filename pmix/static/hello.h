// What do the members say to each other when only a file of addresses introduces them?
//
// Over TCP, to rank 0:
//
//     rank 0 -> member   CHALLENGE  a nonce
//     member -> rank 0   CARD       its card and the digest of its host file
//     rank 0 -> member   TABLE      all cards, or REFUSED with a sentence
//
// CARD, TABLE and REFUSED end in an HMAC-SHA256 over the nonce and themselves under a key
// derived from the group's: nobody without the key takes part, and nothing of an earlier run is
// taken for this one's: the nonce is new for rank 0, the own incarnation in the table is for
// the member. Without a key (protection none) the same code guards against accidents only.
// Nothing here is secret. Layout: docs/WIRING.md, 2.
#pragma once

#include "pmix/business_card.h"
#include "pmix/static/host_file.h"

#include <array>
#include <optional>
#include <vector>

namespace stage {

using HelloNonce = std::array<std::byte, 32>;
using HelloDigest = std::array<std::byte, 32>;
using HelloMac = std::array<std::byte, 32>;

/// Longest CARD and CHALLENGE, bytes; a TABLE may have kMaxBusinessCardTableBytes more.
inline constexpr std::size_t kMaxHelloBytes = kMaxBusinessCardBytes + 256;

/// What a group has in common before anybody has spoken.
class HelloKey {
  public:
    /// `group_key` may be empty. Borrowed for the call.
    HelloKey(Bytes group_key, const HostList& hosts);

    [[nodiscard]] const HelloDigest& hosts() const { return hosts_; }
    [[nodiscard]] HelloMac mac(const HelloNonce& nonce, Bytes message) const;
    /// In constant time.
    [[nodiscard]] bool is_mac(const HelloNonce& nonce, Bytes message, Bytes mac) const;

  private:
    HelloDigest key_{};
    HelloDigest hosts_{};
};

/// All messages without the 32-bit length that is in front of each on the stream.
[[nodiscard]] std::vector<std::byte> encode_challenge(const HelloNonce& nonce);
[[nodiscard]] std::optional<HelloNonce> decode_challenge(Bytes message);

[[nodiscard]] std::vector<std::byte> encode_hello_card(const HelloKey& key,
                                                       const HelloNonce& nonce,
                                                       const Card& card);

/// What is wrong with a card that came.
enum class HelloFault : unsigned char {
    not_ours,     ///< No hello at all: a port scanner.
    other_key,    ///< The MAC is wrong.
    other_hosts,  ///< Sealed with our key, but of another host file.
};

struct HelloCard {
    std::optional<Card> card;
    HelloFault fault = HelloFault::not_ours;
};
[[nodiscard]] HelloCard decode_hello_card(const HelloKey& key,
                                          const HelloNonce& nonce,
                                          Bytes message);

/// The part of a TABLE that is the same for all members; HelloKey::mac() of it and the nonce
/// follows it.
[[nodiscard]] std::vector<std::byte> encode_table(const CardTable& cards);
/// A whole REFUSED.
[[nodiscard]] std::vector<std::byte> encode_refused(const HelloKey& key,
                                                    const HelloNonce& nonce,
                                                    const Error& why);
/// Of a TABLE or REFUSED: the cards, or why there are none. cause() is EPROTO for what is no
/// answer of rank 0's (then it is worth trying again), EACCES for one under another key.
[[nodiscard]] Result<CardTable> decode_answer(const HelloKey& key,
                                              const HelloNonce& nonce,
                                              Bytes message);

}  // namespace stage

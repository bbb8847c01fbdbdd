// The messages by which the members of a host file exchange their cards.
//
// They travel over TCP connections to rank 0:
//
//     rank 0 -> member   CHALLENGE  a nonce
//     member -> rank 0   CARD       its card and the digest of its host file
//     rank 0 -> member   TABLE      all cards, or REFUSED with a sentence
//
// CARD, TABLE and REFUSED end in an HMAC-SHA256 over the nonce and themselves under a key
// derived from the group's: only holders of the key can take part, and no message of an earlier
// run is accepted: the nonce is new for rank 0, and the own incarnation in the table is new for
// the member. Without a key (protection none) the MAC guards against accidents only.
// The messages are not secret. Layout: docs/WIRING.md, 2.
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

/// Limit of a CARD and a CHALLENGE, bytes; a TABLE may have kMaxBusinessCardTableBytes more.
inline constexpr std::size_t kMaxHelloBytes = kMaxBusinessCardBytes + 256;

/// The key and host file digest that the members share before any message.
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

/// All messages are encoded without the 32-bit length that precedes each on the stream.
[[nodiscard]] std::vector<std::byte> encode_challenge(const HelloNonce& nonce);
[[nodiscard]] std::optional<HelloNonce> decode_challenge(Bytes message);

[[nodiscard]] std::vector<std::byte> encode_hello_card(const HelloKey& key,
                                                       const HelloNonce& nonce,
                                                       const Card& card);

/// Why a received card was rejected.
enum class HelloFault : unsigned char {
    not_ours,     ///< Not this protocol, for instance a port scanner.
    other_key,    ///< The MAC is wrong.
    other_hosts,  ///< The MAC is right, but the host file differs.
};

struct HelloCard {
    std::optional<Card> card;
    HelloFault fault = HelloFault::not_ours;
};
[[nodiscard]] HelloCard decode_hello_card(const HelloKey& key,
                                          const HelloNonce& nonce,
                                          Bytes message);

/// Encodes the part of a TABLE that is the same for all members; HelloKey::mac() of it and the
/// nonce follows on the wire.
[[nodiscard]] std::vector<std::byte> encode_table(const CardTable& cards);
/// Encodes a complete REFUSED.
[[nodiscard]] std::vector<std::byte> encode_refused(const HelloKey& key,
                                                    const HelloNonce& nonce,
                                                    const Error& why);
/// Decodes a TABLE or REFUSED into the cards or the reason of the refusal. cause() is EPROTO
/// for bytes that are no answer of rank 0 (retry), EACCES for an answer under another key.
[[nodiscard]] Result<CardTable> decode_answer(const HelloKey& key,
                                              const HelloNonce& nonce,
                                              Bytes message);

}  // namespace stage

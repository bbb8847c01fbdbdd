// Exchanges a secret that only the two ends of this one connection can compute.
//
// X25519 (RFC 7748) with a private key that is drawn for the connection and wiped with it: a
// key that proves identity and is stolen later opens no connection that was recorded before.
#pragma once

#include "stager/link/frame_seal.h"

#include <optional>

namespace stage {

/// Whether this process's OpenSSL has X25519; with FIPS 140 configured it may not.
[[nodiscard]] bool can_exchange();

/// The public key to a private one: any 32 random bytes. Requires can_exchange().
[[nodiscard]] LinkSecret public_key(const LinkSecret& private_key);

/// The common secret; none if the peer's public key has no common secret with any other.
[[nodiscard]] std::optional<LinkSecret> common_secret(const LinkSecret& private_key,
                                                      const LinkSecret& peer_public);

}  // namespace stage

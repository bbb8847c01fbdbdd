// AES-128-GCM for packets, by one of two libraries.
//
// OpenSSL is always available. Debian's libipsec-mb needs a fifth of the time for packets
// (docs/decisions/0029) on processors with the instructions for it. Both are compatible.
#pragma once

#include "transport/base/units.h"
#include "transport/seal/keys.h"

#include <memory>

namespace stage::seal {

/// The cipher of one key, in one direction. Not thread-safe.
class PacketGcm {
  public:
    PacketGcm() = default;
    PacketGcm(const PacketGcm&) = delete;
    PacketGcm& operator=(const PacketGcm&) = delete;
    virtual ~PacketGcm() = default;

    /// Authenticates header and body, and writes the first tag.size() bytes of the tag. If it
    /// encrypts, the sealed body goes to `out`, which is the body's place or one apart.
    virtual void seal(
        Bytes iv, Bytes header, Bytes body, MutableBytes out, MutableBytes tag) = 0;

    /// True if the tag is right. If it encrypts, `out` has the opened body, or garbage if
    /// false.
    [[nodiscard]] virtual bool open(
        Bytes iv, Bytes header, Bytes body, MutableBytes out, Bytes tag) = 0;
};

enum class GcmDirection { seal, open };

/// `encrypts`: also encrypts the body. Otherwise the body is only authenticated and `out` is
/// not touched.
[[nodiscard]] std::unique_ptr<PacketGcm> openssl_gcm(const PacketKey& key,
                                                     GcmDirection direction,
                                                     bool encrypts);

/// Works in both directions; `encrypts` as for openssl_gcm(). Null if this build or processor
/// cannot, or if OpenSSL is configured for FIPS 140.
[[nodiscard]] std::unique_ptr<PacketGcm> ipsec_gcm(const PacketKey& key, bool encrypts);

}  // namespace stage::seal

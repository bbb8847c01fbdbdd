// Who computes AES-128-GCM for packets?
//
// OpenSSL can everywhere. Debian's libipsec-mb does it for packets in a fifth of the time
// (docs/decisions/0029) where the processor has instructions for it. What one seals the other
// opens.
#pragma once

#include "transport/base/units.h"
#include "transport/seal/keys.h"

#include <memory>

namespace stage::seal {

/// One key's cipher, in one direction. Not for two threads at once.
class PacketGcm {
  public:
    PacketGcm() = default;
    PacketGcm(const PacketGcm&) = delete;
    PacketGcm& operator=(const PacketGcm&) = delete;
    virtual ~PacketGcm() = default;

    /// Authenticates header and body, and writes the first tag.size() bytes of the tag; if it
    /// encrypts, the sealed body to `out`, which is the body's place or one apart.
    virtual void seal(
        Bytes iv, Bytes header, Bytes body, MutableBytes out, MutableBytes tag) = 0;

    /// True if the tag is right. If it encrypts, the opened body is in `out`; garbage if not.
    [[nodiscard]] virtual bool open(
        Bytes iv, Bytes header, Bytes body, MutableBytes out, Bytes tag) = 0;
};

enum class GcmDirection { seal, open };

/// `encrypts`: the body too; else it is authenticated only, and `out` is not touched.
[[nodiscard]] std::unique_ptr<PacketGcm> openssl_gcm(const PacketKey& key,
                                                     GcmDirection direction,
                                                     bool encrypts);

/// The same, in both directions. None if this build or processor can't, or OpenSSL was told to
/// keep to what FIPS 140 approves.
[[nodiscard]] std::unique_ptr<PacketGcm> ipsec_gcm(const PacketKey& key, bool encrypts);

}  // namespace stage::seal

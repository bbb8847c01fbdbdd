// Seals and opens single packets.
//
// The header's 16 bytes are authenticated, the body is encrypted (encrypt) or authenticated
// (auth), and a 12-byte AES-128-GCM tag or a 4-byte CRC32C (none) follows it. Input and output
// may be apart: a sender encrypts from a block's buffer into a packet's without a copy in
// between.
#pragma once

#include "transport/base/units.h"
#include "transport/seal/gcm.h"
#include "transport/seal/keys.h"

#include <cstdint>
#include <memory>

namespace stage::seal {

/// Length of the tag under `protection`, bytes.
[[nodiscard]] std::size_t tag_bytes(Protection protection);

/// The cipher of one sender in one epoch, in one direction. Not thread-safe.
class PacketCipher {
  public:
    using Direction = GcmDirection;

    PacketCipher(Protection protection, const PacketKey& key, Direction direction);

    /// Writes the sealed body to `out` (same size as `body`, same place or apart; untouched
    /// under auth and none, whose bodies travel as they are) and the tag to `tag`. Requires
    /// tag.size() == tag_bytes(protection).
    void seal(std::uint64_t packet_number,
              Bytes header,
              Bytes body,
              MutableBytes out,
              MutableBytes tag);

    /// True, and the opened body in `out`, if the tag is right; otherwise `out` holds garbage.
    /// Under auth and none `out` is untouched, because the body travels as it is.
    [[nodiscard]] bool open(
        std::uint64_t packet_number, Bytes header, Bytes body, MutableBytes out, Bytes tag);

    /// The key is expanded, which takes a kilobyte. A cipher that rests expands it again for
    /// its next packet.
    [[nodiscard]] bool is_expanded() const { return gcm_ != nullptr; }
    void rest() { gcm_.reset(); }

  private:
    void expand();

    Protection protection_;
    Direction direction_;
    PacketKey key_;
    std::unique_ptr<PacketGcm> gcm_;  ///< Null under none, and while it rests.
};

}  // namespace stage::seal

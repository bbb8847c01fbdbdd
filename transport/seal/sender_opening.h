// How are one sender's packets opened, one after the other?
//
// What needs no key is looked at first, and counted by its reason. Then with the cipher of the
// epoch in use; the key of another one is derived, and kept only if the packet opens with it,
// so that a forged number can't make every packet pay for a derivation twice. Shared by whoever
// hears many senders (session_seal.h) and whoever hears one flow (flow_seal.h).
#pragma once

#include "transport/seal/cipher.h"
#include "transport/seal/keys.h"
#include "transport/wire/packet.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace stage::seal {

/// What was refused, by reason. A stranger shows up here and nowhere else.
struct SealCounters {
    std::uint64_t malformed = 0;      ///< Too short, unknown version, type or critical flag.
    std::uint64_t other_session = 0;  ///< Another broadcast on the same group, or noise.
    std::uint64_t unknown_rank = 0;   ///< No such member, or one's own rank.
    std::uint64_t forged = 0;         ///< The tag is wrong.
    std::uint64_t replayed = 0;       ///< A control packet that was here before.

    [[nodiscard]] std::uint64_t refused() const {
        return malformed + other_session + unknown_rank + forged + replayed;
    }
    SealCounters& operator+=(const SealCounters& other) {
        malformed += other.malformed;
        other_session += other.other_session;
        unknown_rank += other.unknown_rank;
        forged += other.forged;
        replayed += other.replayed;
        return *this;
    }
};

/// A packet that opened.
struct Opened {
    wire::Header header;  ///< With the whole packet number.
    MutableBytes body;    ///< In the packet's own bytes, or where it was wanted.
};

/// The header of a packet that may be this session's; else nothing, counted.
[[nodiscard]] std::optional<wire::Header> screened(Bytes packet,
                                                   std::uint32_t demux,
                                                   std::size_t tag_bytes,
                                                   SealCounters& counters);

class SenderOpening {
  public:
    /// The largest number that opened, 0 before the first.
    [[nodiscard]] std::uint64_t largest() const { return largest_; }
    void note(std::uint64_t number) { largest_ = std::max(largest_, number); }

    /// Makes the cipher of an epoch before a packet waits for it.
    void prepare(PacketCipher cipher, std::uint32_t epoch) {
        cipher_.emplace(std::move(cipher));
        epoch_ = epoch;
    }

    /// True, and the body in `out`, if the tag of a screened packet is right. `key_of(epoch)`
    /// derives the sender's key.
    template <class KeyOf>
    [[nodiscard]] bool open(Protection protection,
                            const wire::Header& header,
                            Bytes packet,
                            MutableBytes out,
                            KeyOf key_of) {
        const Bytes head = packet.first(wire::kHeaderBytes);
        const Bytes tag = packet.last(tag_bytes(protection));
        const Bytes body =
            packet.subspan(wire::kHeaderBytes, packet.size() - head.size() - tag.size());
        const std::uint32_t epoch = epoch_of(header.packet_number);
        if (cipher_ && epoch_ == epoch) {
            return cipher_->open(header.packet_number, head, body, out, tag);
        }
        PacketCipher cipher{protection, key_of(epoch), PacketCipher::Direction::open};
        if (!cipher.open(header.packet_number, head, body, out, tag)) {
            return false;
        }
        if (!cipher_ || epoch > epoch_) {
            prepare(std::move(cipher), epoch);
        }
        return true;
    }

  private:
    std::uint64_t largest_ = 0;
    std::uint32_t epoch_ = 0;
    std::optional<PacketCipher> cipher_;  ///< Of `epoch_`.
};

}  // namespace stage::seal

// Opens the packets of one sender, one after the other.
//
// Checks that need no key come first, and refusals are counted by reason. Then the cipher of
// the current epoch is used. The key of another epoch is derived, and kept only if the packet
// opens with it, so that a forged number cannot make every packet pay for two derivations.
// After several derivations in vain only few packets of other epochs are tried: a flood of
// forged numbers costs no more than other forged packets. Used by session_seal.h, which hears
// many senders, and flow_seal.h, which hears one flow.
#pragma once

#include "transport/seal/cipher.h"
#include "transport/seal/keys.h"
#include "transport/wire/packet.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace stage::seal {

/// Refused packets, by reason. Packets of unauthorised hosts show up only here.
struct SealCounters {
    std::uint64_t malformed = 0;      ///< Too short, unknown version, type or critical flag.
    std::uint64_t other_session = 0;  ///< Another broadcast on the same group, or noise.
    std::uint64_t unknown_rank = 0;   ///< No such member, or one's own rank.
    std::uint64_t forged = 0;         ///< The tag is wrong.
    std::uint64_t replayed = 0;       ///< A control packet that arrived before.

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
    wire::Header header;  ///< With the expanded packet number.
    MutableBytes body;    ///< In the packet's own bytes, or where the caller wanted it.
};

/// What shows without a key that a packet may be a session's.
struct SessionMarks {
    std::uint32_t demux = 0;
    std::uint8_t version = wire::kVersionHighest;
    std::size_t tag_bytes = 0;
};

/// The header of a packet that may be this session's; otherwise empty, and counted.
[[nodiscard]] std::optional<wire::Header> screened(Bytes packet,
                                                   const SessionMarks& session,
                                                   SealCounters& counters);

class SenderOpening {
  public:
    /// The largest number that opened, 0 before the first.
    [[nodiscard]] std::uint64_t largest() const { return largest_; }
    void note(std::uint64_t number) { largest_ = std::max(largest_, number); }

    /// Sets the cipher of an epoch before a packet waits for it.
    void prepare(PacketCipher cipher, std::uint32_t epoch) {
        cipher_.emplace(std::move(cipher));
        epoch_ = epoch;
    }

    [[nodiscard]] bool is_expanded() const { return cipher_ && cipher_->is_expanded(); }
    /// Frees the expanded key until the next packet.
    void rest() {
        if (cipher_) {
            cipher_->rest();
        }
    }

    /// True, with the body in `out`, if the tag of a screened packet is right. `key_of(epoch)`
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
        if (!cipher_) {  // Nearly every sender is heard in its first epoch.
            prepare({protection, key_of(0), PacketCipher::Direction::open}, 0);
        }
        if (epoch_ == epoch) {
            return cipher_->open(header.packet_number, head, body, out, tag);
        }
        if (!may_derive()) {
            return false;
        }
        PacketCipher cipher{protection, key_of(epoch), PacketCipher::Direction::open};
        if (!cipher.open(header.packet_number, head, body, out, tag)) {
            ++failures_;
            return false;
        }
        failures_ = 0;
        if (epoch > epoch_) {
            prepare(std::move(cipher), epoch);
        }
        return true;
    }

  private:
    static constexpr std::uint64_t kFailuresFree = 16;
    static constexpr std::uint64_t kTriedOneOf = 256;

    [[nodiscard]] bool may_derive() {
        return failures_ < kFailuresFree || ++failures_ % kTriedOneOf == 0;
    }

    std::uint64_t largest_ = 0;
    std::uint64_t failures_ = 0;  ///< Packets of other epochs in a row that did not open.
    std::uint32_t epoch_ = 0;
    std::optional<PacketCipher> cipher_;  ///< The cipher of `epoch_`.
};

}  // namespace stage::seal

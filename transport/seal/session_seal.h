// How does a member seal what it sends and open what it hears?
//
// One SessionSeal per member and session. It holds the member's own cipher, and for every
// sender that was ever heard a cipher, the largest packet number and a replay window, made when
// first needed from the table of incarnations that the wire-up collected. What doesn't open
// changes nothing and is counted by its reason.
#pragma once

#include "transport/base/units.h"
#include "transport/seal/flow_seal.h"
#include "transport/seal/replay_window.h"
#include "transport/seal/sender_opening.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace stage::seal {

struct SessionKeys {
    Protection protection = Protection::encrypt;
    GroupKey group{};
    SessionId session{};
    /// By rank; the member's own among them. Empty entries are nobody.
    std::vector<Incarnation> members;
    Rank own;
};

/// Where DATA's decrypted payload is wanted, of that many bytes; empty: in the packet's own. Of
/// the header nothing is proven yet: a packet that then doesn't open leaves garbage there.
using PayloadRoom = std::function<MutableBytes(const wire::Header& header, std::size_t bytes)>;

class SessionSeal {
  public:
    explicit SessionSeal(SessionKeys keys);

    /// Makes the own key and that of `sender`, from whom most will come, before a packet waits
    /// for them. Its packets may overtake each other by 65,536 numbers.
    void prepare(Rank sender);

    /// The next packet number: each is given once.
    [[nodiscard]] std::uint64_t take_number() { return next_number_++; }

    /// Seals `body` behind an already written header whose number is `packet_number`; see
    /// PacketCipher::seal.
    void seal(std::uint64_t packet_number,
              Bytes header,
              Bytes body,
              MutableBytes out,
              MutableBytes tag);

    /// Opens a whole packet, in place but for what `room` says. Nothing if it is not this
    /// session's, or was refused: counted.
    [[nodiscard]] std::optional<Opened> open(MutableBytes packet, const PayloadRoom& room = {});

    /// Takes note of a packet that a flow's own seal has opened. False for a control packet
    /// that was here before, on whichever flow: counted.
    [[nodiscard]] bool admit(const wire::Header& header);
    /// What opens the packets of `source` on one flow.
    [[nodiscard]] FlowSeal flow(Rank source, Flow flow) const;

    [[nodiscard]] std::size_t tag_bytes() const { return seal::tag_bytes(keys_.protection); }
    [[nodiscard]] Protection protection() const { return keys_.protection; }
    [[nodiscard]] std::uint32_t demux() const { return demux_; }
    [[nodiscard]] const SealCounters& counters() const { return counters_; }

  private:
    struct Sender {
        ReplayWindow control;
        SenderOpening opening;
    };

    [[nodiscard]] Sender& heard_from(Rank rank);
    [[nodiscard]] PacketKey key_of(Rank rank, std::uint32_t epoch) const;

    SessionKeys keys_;
    std::uint32_t demux_;
    std::uint64_t next_number_ = 1;
    std::uint32_t own_epoch_ = 0;
    std::optional<PacketCipher> own_cipher_;
    std::map<Rank, Sender> senders_;  ///< Nobody leaves it.
    Sender* last_ = nullptr;          ///< Of these, and whose it is.
    Rank last_rank_;
    SealCounters counters_;
};

}  // namespace stage::seal

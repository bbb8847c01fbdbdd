// Seals what a member sends and opens what it receives.
//
// There is one SessionSeal for each member and session. It holds the member's own cipher and,
// for every sender that was ever heard, a key, the largest packet number and a replay window.
// They are made when first needed, from the table of incarnations of the wire-up. An expanded
// key takes a kilobyte, so that of many senders only those heard lately have one. A
// packet that does not open changes nothing and is counted by its reason.
#pragma once

#include "transport/base/units.h"
#include "transport/seal/flow_seal.h"
#include "transport/seal/replay_window.h"
#include "transport/seal/sender_opening.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace stage::seal {

struct SessionKeys {
    Protection protection = Protection::encrypt;
    GroupKey group{};
    SessionId session{};
    /// By rank, the member's own included. An empty entry is no member.
    std::vector<Incarnation> members;
    Rank own;
    /// The version of the protocol that the group agreed on.
    std::uint8_t version = wire::kVersionHighest;
    /// This many flows of a sender, from 0 on, keep an order each, and none waits for another:
    /// numbers are expanded and replays found by flow. All others count as flow 0.
    std::uint8_t flows_apart = 1;
};

/// Where DATA's decrypted payload goes, of that many bytes; empty: into the packet's own bytes.
/// The header is not authenticated yet; a packet that fails to open leaves garbage there.
using PayloadRoom = std::function<MutableBytes(const wire::Header& header, std::size_t bytes)>;

class SessionSeal {
  public:
    explicit SessionSeal(SessionKeys keys);

    /// Derives the own key and that of `sender`, from which most packets will come, before a
    /// packet waits for them. Packets of `sender` may be reordered by up to 65,536 numbers.
    void prepare(Rank sender);

    /// Seals `body` behind a written header whose number is `packet_number`; see
    /// PacketCipher::seal.
    void seal(std::uint64_t packet_number,
              Bytes header,
              Bytes body,
              MutableBytes out,
              MutableBytes tag);

    /// Opens a whole packet, in place except for what `room` says. Empty, and counted, if it is
    /// not this session's or was refused.
    [[nodiscard]] std::optional<Opened> open(MutableBytes packet, const PayloadRoom& room = {});

    /// Records a packet that a flow's own seal opened. False, and counted, for a control packet
    /// that arrived before on any flow.
    [[nodiscard]] bool admit(const wire::Header& header);
    /// What opens the packets of `source` on one flow.
    [[nodiscard]] FlowSeal flow(Rank source, Flow flow) const;

    /// Senders whose keys are expanded, the prepared one aside.
    static constexpr std::size_t kExpandedMax = 1024;
    [[nodiscard]] std::size_t expanded() const { return expanded_.size(); }

    [[nodiscard]] std::size_t tag_bytes() const { return seal::tag_bytes(keys_.protection); }
    [[nodiscard]] Protection protection() const { return keys_.protection; }
    [[nodiscard]] std::uint8_t version() const { return keys_.version; }
    [[nodiscard]] std::uint32_t demux() const { return demux_; }
    [[nodiscard]] const SealCounters& counters() const { return counters_; }

  private:
    struct Sender {
        ReplayWindow control;
        SenderOpening opening;
        bool was_heard = false;  ///< Since its turn in `expanded_`.
    };

    /// A sender, and the flow by which its numbers are counted.
    struct Path {
        Rank rank;
        Flow flow{};

        friend auto operator<=>(const Path&, const Path&) = default;
    };

    [[nodiscard]] Path path_of(const wire::Header& header) const {
        const bool is_apart = header.flow.index() < keys_.flows_apart;
        return {.rank = header.rank, .flow = is_apart ? header.flow : Flow{}};
    }
    [[nodiscard]] Sender& heard_from(Path path);
    void rest_oldest(Path added);
    [[nodiscard]] PacketKey key_of(Rank rank, std::uint32_t epoch) const;

    SessionKeys keys_;
    std::uint32_t demux_;
    std::uint32_t own_epoch_ = 0;
    std::optional<PacketCipher> own_cipher_;
    std::map<Path, Sender> senders_;  ///< Entries are never removed.
    std::deque<Path> expanded_;       ///< In turn to rest.
    Sender* last_ = nullptr;          ///< The entry found last, and whose it is.
    Path last_path_;
    SealCounters counters_;
};

}  // namespace stage::seal

// One member of a broadcast, from its endpoints to its report: it makes its card, meets the
// other members in a directory, joins the group, and runs its work.
//
// The process that starts a member says what is known before the members meet: stagecastd by
// SETUP, a launcher by options, an MPI program's rank by messages.
#pragma once

#include "pmix/agreement.h"
#include "pmix/directory.h"
#include "stager/config/transport_choice.h"
#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/broadcast/work.h"
#include "transport/settings/choices.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// What is known before the members meet.
struct MemberPlan {
    std::optional<Rank> own{};  ///< Without one the table of cards says it.
    std::string node{};         ///< The node's name, for messages; empty if unknown.
    std::size_t members = 1;
    Rank source{};
    bool is_source = false;
    RelayShape relay = RelayShape::automatic;
    Transport transport = Transport::automatic;
    bool broadcasts = false;  ///< To all hosts of the LAN instead of a group.
    /// The group's first address, from what the wire-up drew and the number of rails.
    std::function<Address(std::uint64_t draw, std::size_t rails)> group{};
    std::string data_ports{};  ///< "6830-6893": those of all members, for messages.
    /// The session's number; without one the wire-up draws it.
    std::optional<seal::SessionId> session{};
    std::chrono::milliseconds longest{};  ///< That the wire-up may take.
    /// All that does not follow from the cards.
    BroadcastConfig broadcast{};
};

/// Makes this process's card: a fresh incarnation, and its place in each fabric in which it has
/// an endpoint.
[[nodiscard]] Result<Card> make_card(Rank own,
                                     const std::string& node,
                                     std::vector<Endpoint>& endpoints);

/// Configures the members, and the relay by which they begin or go on: that of the card of
/// `config.source`, because only the source knows the size of the object.
void form_group(const CardTable& cards, const Network& network, BroadcastConfig& config);

/// What the source knows of its object before the members meet.
struct ObjectFacts {
    std::uint64_t bytes = 0;
    Bytes offer{};  ///< Work::offer(), for all members to check their room.
};

class BroadcastMember {
  public:
    BroadcastMember() = default;
    /// A member of a group of one needs no endpoint.
    BroadcastMember(MemberPlan plan, std::vector<Endpoint> endpoints);

    /// Returns once every member's card is here and this member has joined. `directory`: null
    /// in a group of one. `object`: nothing of a receiver. Fails (Blame::node) if the members
    /// do not meet in time.
    [[nodiscard]] Status meet(Directory* directory,
                              const ObjectFacts& object,
                              Interrupts& interrupts);

    /// Takes part to the end. Requires meet().
    [[nodiscard]] BroadcastReport run(Work& work,
                                      Watcher& watcher,
                                      const DriverWrap& wrap = {});

    /// Known before meet() if the plan has it.
    [[nodiscard]] Rank own() const { return plan_.broadcast.own; }
    /// How much longer a receiver's finish() may take (BroadcastSettings::finish_extra).
    void set_finish_extra(Duration extra) { plan_.broadcast.finish_extra = extra; }
    /// By rank; empty in a group of one.
    [[nodiscard]] const CardTable& cards() const { return cards_; }
    /// What the source said of its object; empty if that is too long, or if it said nothing.
    [[nodiscard]] Bytes offer() const { return offer_; }
    [[nodiscard]] const Network& network() const { return network_; }
    /// The carrier of the fabric in which the broadcast begins.
    [[nodiscard]] const Carrier& carrier() const { return carrier_; }
    [[nodiscard]] bool broadcasts() const { return plan_.broadcasts; }
    [[nodiscard]] std::vector<std::string> names_of(const std::vector<Rank>& ranks) const;
    /// The transport that follows from the cards and from who could not be reached.
    [[nodiscard]] TransportChoice choice(const std::vector<Rank>& unreached) const;

  private:
    [[nodiscard]] Result<Card> card(const ObjectFacts& object);
    [[nodiscard]] Status find_own_rank(const Card& own);
    void keep_offer(Bytes offer);
    [[nodiscard]] Status join(std::uint64_t draw);

    MemberPlan plan_;
    std::vector<Endpoint> endpoints_;
    CardTable cards_;
    std::vector<std::byte> offer_;
    Network network_;
    Joined joined_;  ///< In the network's first fabric; until run().
    Carrier carrier_;
};

}  // namespace stage

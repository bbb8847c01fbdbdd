// Turns a member's endpoints and the business cards of all members into a broadcast's
// configuration.
//
// The member makes its card, a directory collects all cards, and the configuration follows from
// the table of cards and the keys. The process that started the worker chooses the directory.
#pragma once

#include "pmix/agreement.h"
#include "pmix/directory.h"
#include "stager/config/relay_choice.h"
#include "stager/config/transport_choice.h"
#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/broadcast/network.h"
#include "transport/run/broadcast.h"
#include "transport/settings/scheme.h"

#include <string>
#include <vector>

namespace stage {

/// Makes this process's card: a fresh incarnation, and its place in each fabric in which it has
/// an endpoint.
[[nodiscard]] Result<Card> make_card(Rank own,
                                     const std::string& node,
                                     std::vector<Endpoint>& endpoints);

/// The relay, for a card, by which an object of this size goes among `members`. Only the source
/// knows the size; what the others' cards say counts for nothing.
[[nodiscard]] Relay relay_for(std::uint64_t object_bytes,
                              std::size_t members,
                              RelayShape asked = RelayShape::automatic);

struct Wired {
    CardTable cards;
    Agreement agreement;
};

/// Publishes `own` and collects all cards. `interrupts` can end it.
[[nodiscard]] Result<Wired> wire_up(Directory& directory,
                                    const Card& own,
                                    std::chrono::milliseconds longest,
                                    Interrupts& interrupts);

/// Configures the members and, if they begin as a relay, its tree; the caller sets the rest of
/// the configuration.
[[nodiscard]] BroadcastConfig broadcast_among(const CardTable& cards,
                                              Rank own,
                                              Rank source,
                                              const Network& network);

/// What is known of the transport once the cards are here: the members that can take part in no
/// relay.
[[nodiscard]] TransportFacts facts_of(const CardTable& cards, Transport configured);
/// The names of these members, from their cards.
[[nodiscard]] std::vector<std::string> names_of(const std::vector<Rank>& ranks,
                                                const CardTable& cards);
/// What follows for a broadcast by multicast.
void follow(const TransportChoice& choice, const CardTable& cards, BroadcastConfig& config);

}  // namespace stage

#include "stager/worker/broadcast/wiring.h"

#include "transport/base/random_value.h"
#include "transport/fabrics/fabrics.h"
#include "transport/seal/algorithms.h"

#include <algorithm>

namespace stage {
namespace {

Relay relay_in(const Card& card) {
    return Relay::of_number(card.relay_degree).value_or(Relay{});
}

}  // namespace

Result<Card> make_card(Rank own, const std::string& node, std::vector<Endpoint>& endpoints) {
    Card card;
    card.rank = own;
    card.node = node.substr(0, kMaxCardNameBytes);
    card.incarnation = random_value<decltype(card.incarnation)>();
    for (Endpoint& endpoint : endpoints) {
        const Fabric* fabric = fabric_called(endpoint.fabric);
        if (fabric == nullptr) {
            return Error{Blame::node, "this release has no fabric \"" + endpoint.fabric + '"'}
                .remedy("install the same release of stagecast everywhere on this node");
        }
        TRY(auto place, fabric->place(endpoint));
        card.address = place.host;
        card.places.push_back({endpoint.fabric, std::move(place.bytes)});
    }
    return card;
}

Relay relay_for(std::uint64_t object_bytes, std::size_t members, RelayShape asked) {
    const RelayChoice choice = choose_relay({.object_bytes = object_bytes,
                                             .members = static_cast<std::uint32_t>(members),
                                             .asked = asked});
    return choice.relay;
}

Result<Wired> wire_up(Directory& directory,
                      const Card& own,
                      std::chrono::milliseconds longest,
                      Interrupts& interrupts) {
    TRY(directory.publish(own));
    // Done while the other cards arrive: after the wire-up all members would wait for it.
    static_cast<void>(seal::algorithms());
    Result<CardTable> cards =
        directory.collect({.longest = longest, .interrupt_fd = interrupts.descriptor()});
    if (!cards) {
        Status reason = interrupts.check();
        return reason ? std::move(cards).error() : std::move(reason).error();
    }
    TRY(auto agreement, agree(*cards, directory.context_id()));
    return Wired{*std::move(cards), agreement};
}

BroadcastConfig broadcast_among(const CardTable& cards,
                                Rank own,
                                Rank source,
                                const Network& network) {
    BroadcastConfig config;
    config.own = own;
    config.source = source;
    for (const Card& card : cards) {
        config.members.push_back(card.incarnation);
    }
    if (network.relays()) {
        config.scheme = relay_in(cards[source.index()]);
    }
    config.seed = random_value<std::uint64_t>();
    return config;
}

TransportFacts facts_of(const CardTable& cards, Transport configured) {
    TransportFacts facts{.configured = configured};
    for (const Card& card : cards) {
        const bool can_relay = std::ranges::any_of(card.places, [](const CardPlace& place) {
            const Fabric* fabric = fabric_called(place.fabric);
            return fabric != nullptr && !fabric->has_multicast();
        });
        if (!can_relay) {
            facts.without_port.push_back(card.node.empty() ? describe(card) : card.node);
        }
    }
    return facts;
}

std::vector<std::string> names_of(const std::vector<Rank>& ranks, const CardTable& cards) {
    std::vector<std::string> names;
    for (const Rank rank : ranks) {
        const Card& card = cards[rank.index()];
        names.push_back(card.node.empty() ? describe(card) : card.node);
    }
    return names;
}

void follow(const TransportChoice& choice, const CardTable& cards, BroadcastConfig& config) {
    config.next_relay = relay_in(cards[config.source.index()]);
    config.unreached_policy = choice.if_unreached;
}

}  // namespace stage

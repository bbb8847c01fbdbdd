#include "stager/worker/broadcast/broadcast_member.h"

#include "stager/config/relay_choice.h"
#include "transport/base/random_value.h"
#include "transport/fabrics/fabrics.h"
#include "transport/seal/algorithms.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

struct Wired {
    CardTable cards;
    Agreement agreement;
};

/// Publishes `own` and collects all cards. `interrupts` can end it.
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

Relay relay_in(const Card& card) {
    return Relay::of_number(card.relay_degree).value_or(Relay{});
}

/// For messages.
std::string name_of(const Card& card) {
    return card.node.empty() ? describe(card) : card.node;
}

bool can_relay(const Card& card) {
    return std::ranges::any_of(card.places, [](const CardPlace& place) {
        const Fabric* fabric = fabric_called(place.fabric);
        return fabric != nullptr && !fabric->has_multicast();
    });
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

void form_group(const CardTable& cards, const Network& network, BroadcastConfig& config) {
    for (const Card& card : cards) {
        config.members.push_back(card.incarnation);
    }
    config.next_relay = relay_in(cards[config.source.index()]);
    if (network.relays()) {
        config.scheme = config.next_relay;
    }
    config.seed = random_value<std::uint64_t>();
}

BroadcastMember::BroadcastMember(MemberPlan plan, std::vector<Endpoint> endpoints)
    : plan_{std::move(plan)}, endpoints_{std::move(endpoints)} {
    plan_.broadcast.own = plan_.own.value_or(plan_.source);
    plan_.broadcast.source = plan_.source;
}

Result<Card> BroadcastMember::card(const ObjectFacts& object) {
    TRY(auto card, make_card(own(), plan_.node, endpoints_));
    const RelayChoice choice =
        choose_relay({.object_bytes = object.bytes,
                      .members = static_cast<std::uint32_t>(plan_.members),
                      .asked = plan_.relay});
    card.relay_degree = choice.relay.number();
    card.offer.assign(object.offer.begin(), object.offer.end());
    return card;
}

Status BroadcastMember::meet(Directory* directory,
                             const ObjectFacts& object,
                             Interrupts& interrupts) {
    if (plan_.members == 1) {
        plan_.broadcast.members.resize(1);
        keep_offer(object.offer);
        return {};
    }
    TRY(const auto own, card(object));
    TRY(auto wired, wire_up(*directory, own, plan_.longest, interrupts));
    cards_ = std::move(wired.cards);
    if (cards_.size() != plan_.members) {
        return Error{Blame::internal, "the cards do not match the group's members"};
    }
    TRY(find_own_rank(own));
    keep_offer(cards_[plan_.source.index()].offer);
    plan_.broadcast.session = plan_.session.value_or(wired.agreement.session);
    plan_.broadcast.version = wired.agreement.version;
    return join(wired.agreement.draw);
}

Status BroadcastMember::find_own_rank(const Card& own) {
    const auto found = std::ranges::find(cards_, own.incarnation, &Card::incarnation);
    if (found == cards_.end() || (plan_.own && *plan_.own != found->rank) ||
        plan_.is_source != (found->rank == plan_.source)) {
        return Error{Blame::internal,
                     "the table of cards lacks this member at its rank: " + describe(own)};
    }
    plan_.broadcast.own = found->rank;
    return {};
}

Status BroadcastMember::join(std::uint64_t draw) {
    JoinPlan plan{
        .own = own(),
        .source = plan_.source,
        .places = {},
        .group = [draw, group = plan_.group](std::size_t rails) { return group(draw, rails); },
        .flows = plan_.broadcast.policies.flows,
        .data_ports = plan_.data_ports};
    TRY(network_, Network::among(cards_, std::move(endpoints_), std::move(plan)));
    form_group(cards_, network_, plan_.broadcast);
    plan_.broadcast.unreached_policy = choice({}).if_unreached;
    TRY(joined_, network_.join(plan_.broadcast.scheme, plan_.broadcast.rate_max_bytes_per_s));
    carrier_ = joined_.carrier;
    return {};
}

BroadcastReport BroadcastMember::run(Work& work, Watcher& watcher, const DriverWrap& wrap) {
    return work.run(plan_.broadcast, std::move(joined_), network_, watcher, wrap);
}

void BroadcastMember::keep_offer(Bytes offer) {
    offer_.assign(offer.begin(), offer.end());
}

std::vector<std::string> BroadcastMember::names_of(const std::vector<Rank>& ranks) const {
    std::vector<std::string> names;
    for (const Rank rank : ranks) {
        names.push_back(name_of(cards_[rank.index()]));
    }
    return names;
}

TransportChoice BroadcastMember::choice(const std::vector<Rank>& unreached) const {
    TransportFacts facts{.configured = plan_.transport,
                         .broadcasts = plan_.broadcasts,
                         .unreached = names_of(unreached)};
    for (const Card& card : cards_) {
        if (!can_relay(card)) {
            facts.without_port.push_back(name_of(card));
        }
    }
    return choose_transport(facts);
}

}  // namespace stage

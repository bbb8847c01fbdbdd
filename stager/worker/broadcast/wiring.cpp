#include "stager/worker/broadcast/wiring.h"

#include "transport/base/random_value.h"
#include "transport/core/relay/relay_tree.h"
#include "transport/seal/algorithms.h"
#include "transport/udp/sockets.h"

#include <algorithm>
#include <limits>

namespace stage {
namespace {

constexpr std::uint32_t kUsualMtu = 1500;  ///< Without multicast it is TCP's concern.

Result<std::uint32_t> least_mtu(const std::vector<std::string>& interfaces) {
    std::uint32_t least =
        interfaces.empty() ? kUsualMtu : std::numeric_limits<std::uint32_t>::max();
    for (const std::string& interface : interfaces) {
        TRY(const auto mtu, udp::interface_mtu(interface));
        if (mtu < kMinMtu) {
            return Error{Blame::node,
                         "the MTU of " + interface + " is " + std::to_string(mtu) +
                             ", below the " + std::to_string(kMinMtu) +
                             " bytes that stagecast needs"};
        }
        least = std::min(least, mtu);
    }
    return least;
}

}  // namespace

Result<Card> make_card(Rank own,
                       const std::string& node,
                       int peer_socket,
                       const std::vector<std::string>& interfaces) {
    TRY(const auto bound, udp::bound_address(peer_socket));
    if (bound.ip.is_any()) {
        return Error{Blame::internal, "the data socket is bound to no address of this node"};
    }
    TRY(const auto mtu, least_mtu(interfaces));
    Card card;
    card.rank = own;
    card.mtu = mtu;
    card.rails = static_cast<std::uint8_t>(std::max<std::size_t>(interfaces.size(), 1));
    card.address = bound.ip;
    card.port = bound.port;
    card.node = node.substr(0, kMaxCardNameBytes);
    card.incarnation = random_value<decltype(card.incarnation)>();
    return card;
}

Status offer_relay(const UniqueFd& listener, Card& card) {
    if (listener) {
        TRY(const auto bound, udp::bound_address(listener.get()));
        card.relay_port = bound.port;
    }
    return {};
}

std::uint8_t relay_degree_for(std::uint64_t object_bytes,
                              std::size_t members,
                              RelayShape asked) {
    const RelayChoice choice = choose_relay({.object_bytes = object_bytes,
                                             .members = static_cast<std::uint32_t>(members),
                                             .asked = asked});
    return choice.two_trees ? static_cast<std::uint8_t>(core::kTwoTrees) : choice.degree;
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

Result<BroadcastConfig> broadcast_among(const CardTable& cards, Rank own, Rank source) {
    BroadcastConfig config;
    config.own = own;
    config.source = source;
    config.mtu = cards.front().mtu;
    config.rails = cards.front().rails;
    for (const Card& card : cards) {
        config.mtu = std::min(config.mtu, card.mtu);
        config.rails = std::min(config.rails, card.rails);
        if ((card.relay_degree > 0) != (cards[source.index()].relay_degree > 0)) {
            return Error{Blame::node,
                         describe(card) + " and the source do not agree on the transport"}
                .remedy("give all nodes the same Transport= in stagecast.conf");
        }
        config.members.push_back({.peer = Address{.ip = card.address, .port = card.port},
                                  .incarnation = card.incarnation,
                                  .relay_port = card.relay_port});
    }
    config.relay_degree = cards[source.index()].relay_degree;
    config.seed = random_value<std::uint64_t>();
    return config;
}

TransportFacts facts_of(const CardTable& cards, Transport configured) {
    TransportFacts facts{.configured = configured};
    for (const Card& card : cards) {
        if (card.relay_port == 0) {
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

void follow(const TransportChoice& choice,
            std::uint64_t object_bytes,
            BroadcastConfig& config) {
    config.next_relay_degree = relay_degree_for(object_bytes, config.members.size());
    config.unreached_policy = choice.if_unreached;
}

void follow(const Policies& policies, BroadcastConfig& config) {
    config.policies = policies;
    config.policies.flows = std::max(policies.flows, config.rails);
}

}  // namespace stage

#include "stager/worker/broadcast/network.h"

#include "transport/fabrics/fabrics.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

/// By rank; empty for a member without one.
std::vector<std::vector<std::byte>> places_in(const std::string& fabric,
                                              const CardTable& cards) {
    std::vector<std::vector<std::byte>> places(cards.size());
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
        if (const CardPlace* place = cards[rank].place_in(fabric)) {
            places[rank] = place->bytes;
        }
    }
    return places;
}

/// Those of the source, in its order, then those that only others have.
std::vector<std::string> fabrics_in(const CardTable& cards, const Card& source) {
    std::vector<std::string> names;
    const auto add = [&names](const Card& card) {
        for (const CardPlace& place : card.places) {
            if (std::ranges::find(names, place.fabric) == names.end()) {
                names.push_back(place.fabric);
            }
        }
    };
    add(source);
    std::ranges::for_each(cards, add);
    return names;
}

/// The first fabric of the card that the group uses.
std::string first_of(const Card& card, const std::vector<std::string>& left_out) {
    const auto first = std::ranges::find_if(card.places, [&](const CardPlace& place) {
        return std::ranges::find(left_out, place.fabric) == left_out.end();
    });
    return first != card.places.end() ? first->fabric : std::string{};
}

/// The members begin in one fabric.
Status check_first(const std::string& first,
                   const CardTable& cards,
                   const std::vector<std::string>& left_out) {
    for (const Card& card : cards) {
        if (first_of(card, left_out) != first) {
            return Error{Blame::node,
                         describe(card) + " and the source do not agree on the transport"}
                .remedy("give all nodes the same Transport= in stagecast.conf");
        }
    }
    return {};
}

}  // namespace

Result<Network> Network::among(const CardTable& cards,
                               std::vector<Endpoint> own,
                               JoinPlan plan) {
    const Card& source = cards[plan.source.index()];
    Network network;
    network.plan_ = std::move(plan);
    std::vector<std::string> left_out;
    for (const std::string& name : fabrics_in(cards, source)) {
        const Fabric* fabric = fabric_called(name);
        const auto endpoint = std::ranges::find(own, name, &Endpoint::fabric);
        auto places = places_in(name, cards);
        const auto objection =
            fabric != nullptr ? fabric->objection(places) : std::optional<Objection>{};
        if (objection) {
            left_out.push_back(name);
            network.objections_.push_back(name + ": " +
                                          describe(cards[objection->member.index()]) + ": " +
                                          objection->why);
        } else if (fabric != nullptr && endpoint != own.end() &&
                   std::ranges::none_of(places, &std::vector<std::byte>::empty)) {
            network.lines_.push_back({fabric, std::move(*endpoint), std::move(places)});
        }
    }
    const std::string first = first_of(source, left_out);
    if (first.empty()) {
        return Error{Blame::node, network.objections_.front()};
    }
    TRY(check_first(first, cards, left_out));
    if (network.lines_.empty() || network.lines_.front().fabric->name() != first) {
        return Error{Blame::internal, "this member has no endpoint in " + first};
    }
    return network;
}

/// What could not be reached by multicast in one fabric goes on as a relay.
void Network::erase_multicast() {
    std::erase_if(lines_, [](const Line& line) { return line.fabric->has_multicast(); });
}

Result<Joined> Network::join(const Scheme& scheme, std::uint64_t rate_max) {
    if (lines_.empty()) {
        return Error{Blame::internal, "no fabric is left by which all members can go on"};
    }
    Line line = std::move(lines_.front());
    lines_.erase(lines_.begin());
    erase_multicast();
    JoinPlan plan = plan_;
    plan.places = std::move(line.places);
    plan.rate_max = rate_max;
    const Relay* relay = relay_of(scheme);
    plan.children_max = relay != nullptr ? relay->degree() : 1;
    return line.fabric->join(std::move(line.endpoint), plan);
}

}  // namespace stage

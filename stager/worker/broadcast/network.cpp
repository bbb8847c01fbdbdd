#include "stager/worker/broadcast/network.h"

#include "transport/fabrics/fabrics.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

/// By rank; empty if a member has none.
std::vector<std::vector<std::byte>> places_in(const std::string& fabric,
                                              const CardTable& cards) {
    std::vector<std::vector<std::byte>> places;
    for (const Card& card : cards) {
        const CardPlace* place = card.place_in(fabric);
        if (place == nullptr) {
            return {};
        }
        places.push_back(place->bytes);
    }
    return places;
}

}  // namespace

Result<Network> Network::among(const CardTable& cards,
                               std::vector<Endpoint> own,
                               JoinPlan plan) {
    const std::vector<CardPlace>& order = cards[plan.source.index()].places;
    for (const Card& card : cards) {
        if (card.places.front().fabric != order.front().fabric) {
            return Error{Blame::node,
                         describe(card) + " and the source do not agree on the transport"}
                .remedy("give all nodes the same Transport= in stagecast.conf");
        }
    }
    Network network;
    network.plan_ = std::move(plan);
    for (const CardPlace& place : order) {
        const Fabric* fabric = fabric_called(place.fabric);
        const auto endpoint = std::ranges::find(own, place.fabric, &Endpoint::fabric);
        auto places = places_in(place.fabric, cards);
        if (fabric != nullptr && endpoint != own.end() && !places.empty()) {
            network.lines_.push_back({fabric, std::move(*endpoint), std::move(places)});
        }
    }
    if (network.lines_.empty() ||
        network.lines_.front().fabric->name() != order.front().fabric) {
        return Error{Blame::internal, "this member has no endpoint in " + order.front().fabric};
    }
    return network;
}

Result<Joined> Network::join(const Scheme& scheme, std::uint64_t rate_max) {
    if (lines_.empty()) {
        return Error{Blame::internal, "no fabric is left by which all members can go on"};
    }
    Line line = std::move(lines_.front());
    lines_.erase(lines_.begin());
    JoinPlan plan = plan_;
    plan.places = std::move(line.places);
    plan.rate_max = rate_max;
    const Relay* relay = relay_of(scheme);
    plan.children_max = relay != nullptr ? relay->degree() : 1;
    return line.fabric->join(std::move(line.endpoint), plan);
}

}  // namespace stage

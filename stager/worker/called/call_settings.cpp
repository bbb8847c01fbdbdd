#include "stager/worker/called/call_settings.h"

#include "stager/config/value.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::chrono::seconds kStallTimeout{30};
/// Ranks may arrive at a collective call as late as they like.
constexpr std::chrono::hours kMeeting{24 * 365};
constexpr std::uint64_t kBits = 8;

void follow_site(const Config& site, CallOffer& offer) {
    CallOrder& order = offer.order;
    if (order.transport == Transport::automatic) {
        order.transport = site.transport;
    }
    if (order.transport != Transport::tcp && order.interfaces.empty()) {
        order.interfaces = write_interfaces(site.interfaces);
    }
    const std::uint64_t rate_max = site.rate_max * kBits;
    order.rate_max = order.rate_max == 0 ? rate_max : std::min(order.rate_max, rate_max);
    offer.ttl = static_cast<std::uint8_t>(site.ttl);
    offer.dscp = static_cast<std::uint8_t>(site.dscp);
    offer.protection = site.protection;
}

}  // namespace

Result<CallOffer> settle_offer(CallOrder given, const std::optional<Config>& site) {
    CallOffer offer;
    offer.order = std::move(given);
    CallOrder& order = offer.order;
    if (site) {
        follow_site(*site, offer);
    }
    if (!read_interfaces(order.interfaces)) {
        return Error{Blame::user, "'" + order.interfaces + "' does not name interfaces"}.remedy(
            "write eth0, or eth0+eth1 for interfaces that are used together");
    }
    if (order.transport == Transport::udp && order.interfaces.empty()) {
        return Error{Blame::user, "no network interface is named for the multicast"}.remedy(
            "set STAGECAST_INTERFACE, or have the administrator set Interface= in "
            "stagecast.conf");
    }
    if (may_relay(order.transport) && order.interfaces.empty()) {
        order.transport = Transport::tcp;
    }
    if (order.stall_timeout.count() == 0) {
        order.stall_timeout = kStallTimeout;
    }
    return offer;
}

EngineOptions engine_options(const CallOffer& offer) {
    const CallOrder& order = offer.order;
    EngineOptions options;
    options.source = order.source;
    options.destination = order.destination.empty() ? order.source : order.destination;
    options.is_durable = order.is_durable;
    options.interfaces = read_interfaces(order.interfaces).value_or(std::vector<RailNames>{});
    options.transport = order.transport;
    options.ttl = offer.ttl;
    options.dscp = offer.dscp;
    options.rate_max = order.rate_max;
    options.protection = offer.protection;
    options.timeout = order.timeout;
    options.connect_timeout = kMeeting;
    options.stall_timeout = order.stall_timeout;
    return options;
}

}  // namespace stage

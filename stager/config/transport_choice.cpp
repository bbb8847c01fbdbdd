#include "stager/config/transport_choice.h"

#include "transport/base/text.h"

#include <algorithm>
#include <span>

namespace stage {
namespace {

using Way = TransportChoice::Way;

/// Names that a message has at most; of more it has the number.
constexpr std::size_t kNamesMax = 32;

std::string listed(const std::vector<std::string>& names) {
    const std::span first{names.begin(), std::min(names.size(), kNamesMax)};
    const std::string text = joined(first, ", ");
    return names.size() > kNamesMax
               ? text + " and " + std::to_string(names.size() - kNamesMax) + " more"
               : text;
}

TransportChoice relay(std::string why, std::string why_not_multicast) {
    return {.way = Way::relay, .why = std::move(why), .why_not = std::move(why_not_multicast)};
}

std::string kind(const TransportFacts& facts) {
    return facts.broadcasts ? "broadcast" : "multicast";
}

TransportChoice forced_multicast(const TransportFacts& facts) {
    const std::string asked = "Transport=" + std::string{word_of(facts.configured)};
    TransportChoice choice{.way = Way::multicast,
                           .why = asked,
                           .why_not = asked + " allows " + kind(facts) + " only",
                           .if_unreached = UnreachedPolicy::fail};
    if (!facts.unreached.empty()) {
        const std::string causes =
            facts.broadcasts
                ? "these nodes are in another LAN, a switch limits broadcast (storm control), "
                  "a firewall "
                : "the switches do not forward the group to these nodes (IGMP snooping without "
                  "a querier), a router or firewall ";
        choice.failure =
            Error{Blame::node,
                  kind(facts) + " does not reach " + listed(facts.unreached) + ", and " +
                      asked + " allows nothing else: " + causes +
                      "stands between, or packets of the interfaces' MTU are dropped"}
                .remedy("set Transport=auto in stagecast.conf, or look at the network");
    }
    return choice;
}

}  // namespace

TransportChoice choose_transport(const TransportFacts& facts) {
    if (facts.configured == Transport::tcp) {
        return relay("Transport=tcp", "Transport=tcp allows TCP only");
    }
    if (facts.configured == Transport::udp) {
        return forced_multicast(facts);
    }
    if (!facts.has_interface) {
        return relay("no Interface= for multicast", "no Interface= names one for it");
    }
    const bool can_relay = facts.without_port.empty();
    if (!facts.unreached.empty() && can_relay) {
        const std::string why = kind(facts) + " does not reach " + listed(facts.unreached);
        return relay(why, why);
    }
    TransportChoice choice{
        .way = Way::multicast,
        .why = "every node hears the group",
        .why_not = "each byte would cross every link of the chain",
        .if_unreached = can_relay ? UnreachedPolicy::relay : UnreachedPolicy::fetch};
    if (!can_relay) {
        choice.why_not = listed(facts.without_port) + " can't take part: no TCP port";
    }
    if (!facts.unreached.empty()) {
        choice.why = "some nodes hear the group, and " + listed(facts.unreached) +
                     " fetch what they miss by unicast";
    }
    return choice;
}

std::string to_string(Way way, bool broadcasts, std::string_view fabric) {
    return fabric == "hop"                       ? "udp unicast"
           : way == Way::relay                   ? "tcp unicast"
           : broadcasts                          ? "udp broadcast"
           : fabric == word_of(Transport::verbs) ? "verbs multicast"
                                                 : "udp multicast";
}

}  // namespace stage

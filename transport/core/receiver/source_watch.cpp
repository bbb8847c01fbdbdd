#include "transport/core/receiver/source_watch.h"

#include <algorithm>

namespace stage::core {

SourceWatch::SourceWatch(const CoreConfig& config)
    : ready_timeout_{config.ready_timeout},
      stall_timeout_{config.stall_timeout},
      linger_{config.linger} {
}

/// While other members may be busy the source may be, too; afterwards it sends OFFERs.
Instant SourceWatch::wiring_deadline() const {
    const Instant latest = heard_at_ + ready_timeout_;
    return all_listen_at_
               ? std::min(latest, std::max(heard_at_, *all_listen_at_) + stall_timeout_)
               : latest;
}

std::optional<Instant> SourceWatch::deadline(Phase phase) const {
    switch (phase) {
        case Phase::wiring:
            return wiring_deadline();
        case Phase::holding:
            return heard_at_ + linger_;
        case Phase::moving:
            return heard_at_ + stall_timeout_;
        case Phase::released:
        case Phase::failed:
        case Phase::handed_over:
            break;
    }
    return std::nullopt;
}

std::optional<Error> SourceWatch::poll(Instant now, Phase phase) const {
    const auto until = deadline(phase);
    if (!until || now < *until) {
        return std::nullopt;
    }
    const char* const sentence =
        phase == Phase::wiring
            ? "no datagram of the source arrives here: open the data ports (DataPortRange, "
              "UDP) in the firewalls of this node and of the source's, or look at the network "
              "between them"
            : "the source fell silent: it crashed, or the network between it and this node "
              "fails";
    return Error{Blame::node, sentence};
}

std::optional<Unheard> find_unheard(const ReadyResponder& ready, const CoreConfig& config) {
    if (ready.unheard() < config.stall_timeout / 4 * 3) {
        return std::nullopt;
    }
    if (ready.are_all_unheard()) {
        return Unheard{.why = {Blame::node,
                               "no datagram of the " + std::to_string(config.members - 1) +
                                   " other nodes arrives here: open the data ports "
                                   "(DataPortRange, UDP) in this node's firewall, or look at "
                                   "the network between them"},
                       .is_sources_fault = true};
    }
    return Unheard{
        .why = {Blame::node,
                "no datagram of this node arrives at the source, whose datagrams arrive here: "
                "open the data ports (DataPortRange, UDP) in both nodes' firewalls, or look at "
                "the network between them (rp_filter, where the source's node has several "
                "interfaces)"}};
}

}  // namespace stage::core

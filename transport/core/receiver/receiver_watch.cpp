// When a receiver gives up: the time-outs for the source and for its own disk. Nothing is sent
// here.
#include "transport/core/receiver/receiver_parts.h"

#include <algorithm>

namespace stage::core {

/// While other members may be busy the source may be, too; afterwards it sends OFFERs.
Instant Receiver::Parts::wiring_deadline() const {
    const Instant latest = source_heard + config.ready_timeout;
    return all_listen_at
               ? std::min(latest, std::max(source_heard, *all_listen_at) + config.stall_timeout)
               : latest;
}

std::optional<Instant> Receiver::Parts::source_deadline() const {
    if (is_over()) {
        return std::nullopt;
    }
    switch (outcome.phase) {
        case Phase::wiring:
            return wiring_deadline();
        case Phase::holding:
            return source_heard + config.linger;
        case Phase::moving:
        case Phase::released:
        case Phase::failed:
            break;
    }
    return source_heard + config.stall_timeout;
}

void Receiver::Parts::watch_source(Instant now) {
    const auto until = source_deadline();
    if (!until || now < *until) {
        return;
    }
    const char* sentence = outcome.phase == Phase::wiring
                               ? "no datagram of the source arrives here: open the data ports "
                                 "(DataPortRange, UDP) in the firewalls of this node and of "
                                 "the source's, or look at the network between them"
                               : "the source fell silent: it crashed, or the network between "
                                 "it and this node fails";
    // The source is not named: if it fails, its own node reports that, and knows more.
    fail(now, {Blame::node, sentence});
}

/// Within stall_timeout of its first answer.
void Receiver::Parts::watch_answers(Instant now) {
    if (ready.unheard() < config.stall_timeout / 4 * 3) {
        return;
    }
    if (ready.are_all_unheard()) {
        fail(now,
             {Blame::node,
              "no datagram of the " + std::to_string(config.members - 1) +
                  " other nodes arrives here: open the data ports (DataPortRange, UDP) in this "
                  "node's firewall, or look at the network between them"});
        outcome.culprit = config.source;
        return;
    }
    fail(now,
         {Blame::node,
          "no datagram of this node arrives at the source, whose datagrams arrive here: open "
          "the "
          "data ports (DataPortRange, UDP) in both nodes' firewalls, or look at the network "
          "between them (rp_filter, where the source's node has several interfaces)"});
}

/// How long the disk may take for what it is doing now; nothing if it isn't waited for.
std::optional<Duration> Receiver::Parts::disk_patience() const {
    if (outcome.phase != Phase::moving || !intake.has_begun()) {
        return std::nullopt;
    }
    if (is_finishing) {
        return finish_patience(config, limits.ending);
    }
    // A store may wait for earlier blocks, because they say where it belongs: only the first
    // block that isn't held shows whether the disk is at fault.
    const bool is_at_disk = intake.is_first_at_disk();
    return is_at_disk ? std::optional{config.stall_timeout} : std::nullopt;
}

void Receiver::Parts::watch_disk(Instant now) {
    const auto patience = disk_patience();
    disk_watch.look(now, patience.has_value());
    if (patience && disk_watch.is_stuck(now, *patience)) {
        fail(now, {Blame::node, "writing hangs: the disk of this node is stuck"});
    }
}

}  // namespace stage::core

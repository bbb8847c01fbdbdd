// How does a member get from its sockets to a broadcast with everybody?
//
// It makes its card, a directory brings all cards, and what the table and the keys determine
// becomes the broadcast's configuration. Whoever started the worker chose the directory.
#pragma once

#include "pmix/agreement.h"
#include "pmix/directory.h"
#include "stager/config/policies.h"
#include "stager/worker/broadcast/interrupts.h"
#include "transport/run/broadcast.h"

#include <string>
#include <vector>

namespace stage {

/// This process's card: a fresh incarnation, where `peer_socket` is bound, what all of
/// `interfaces`, one a rail, carry.
[[nodiscard]] Result<Card> make_card(Rank own,
                                     const std::string& node,
                                     int peer_socket,
                                     const std::vector<std::string>& interfaces);

struct Wired {
    CardTable cards;
    Agreement agreement;
};

/// Publishes `own` and collects all. What `interrupts` has to say ends it.
[[nodiscard]] Result<Wired> wire_up(Directory& directory,
                                    const Card& own,
                                    std::chrono::milliseconds longest,
                                    Interrupts& interrupts);

/// Who the members are, and the smallest of their MTUs and numbers of rails; the rest of the
/// configuration is the caller's.
[[nodiscard]] Result<BroadcastConfig> broadcast_among(const CardTable& cards,
                                                      Rank own,
                                                      Rank source);

/// Has the broadcast behave as the site chose; each rail has a flow.
void follow(const Policies& policies, BroadcastConfig& config);

/// Bytes that nobody can guess.
[[nodiscard]] bool fill_random(MutableBytes room);

}  // namespace stage

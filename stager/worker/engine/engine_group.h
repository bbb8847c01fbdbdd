// Who is in the group when no daemon says so, and how do we reach them?
//
// A file of hosts and a key file, or whoever launched us with PMIx (then rank 0 draws the key,
// and munge carries it). What the two have in common: a rank, a size, an own address to send
// from, and a directory that brings the cards.
#pragma once

#include "pmix/directory.h"
#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/engine/options.h"
#include "transport/udp/rails.h"

#include <memory>
#include <vector>

namespace stage {

struct EngineGroup {
    Rank own;
    std::size_t size = 1;
    bool must_wire_up = false;     ///< PMIx wants to be left properly even by a group of one.
    IpAddress address;             ///< This member's own.
    std::vector<udp::Rail> rails;  ///< Of the multicast.
    seal::GroupKey key{};  ///< Meaningful where `has_key`; else it comes with rank 0's card.
    bool has_key = false;
    std::unique_ptr<Directory> directory;
};

[[nodiscard]] Result<EngineGroup> find_group(const EngineOptions& options,
                                             Interrupts& interrupts);

/// Under PMIx rank 0 puts the key into its card, and everybody takes it from there. Nothing to
/// do where a key file or protection `none` leaves nothing to share.
[[nodiscard]] Status put_key(const EngineGroup& group, Card& own);
[[nodiscard]] Status take_key(const CardTable& cards, EngineGroup& group);

}  // namespace stage

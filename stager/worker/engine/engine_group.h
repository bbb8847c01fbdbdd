// Finds the members of the engine's group, and this member's own address.
//
// They come from a host file and a key file, or from PMIx (then rank 0 draws the key, and munge
// carries it). Either way the result is a rank, a size, an own address to send from, and a
// directory that exchanges the cards.
#pragma once

#include "pmix/directory.h"
#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/engine/options.h"
#include "transport/fabric/rails.h"
#include "transport/seal/keys.h"

#include <memory>
#include <vector>

namespace stage {

struct EngineGroup {
    Rank own;
    std::size_t size = 1;
    bool must_wire_up = false;  ///< PMIx must be finalised properly even by a group of one.
    IpAddress address;          ///< This member's own.
    std::vector<Rail> rails;    ///< For the multicast.
    seal::GroupKey key{};       ///< Valid if `has_key`; otherwise it comes with rank 0's card.
    bool has_key = false;
    std::unique_ptr<Directory> directory;
};

[[nodiscard]] Result<EngineGroup> find_group(const EngineOptions& options,
                                             Interrupts& interrupts);

/// Under PMIx rank 0 puts the key into its card, and every member takes it from there. Does
/// nothing if there is a key file or protection is `none`.
[[nodiscard]] Status put_key(const EngineGroup& group, Card& own);
[[nodiscard]] Status take_key(const CardTable& cards, EngineGroup& group);

}  // namespace stage

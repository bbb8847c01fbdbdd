// Takes a member of the engine's group from its options to what it needs for its card.
//
// The launcher says how many members there are, passes the key, and carries the cards; the
// source is rank 0, and the other members learn their ranks from the table of cards.
#pragma once

#include "pmix/directory.h"
#include "stager/worker/engine/launcher_channel.h"
#include "stager/worker/engine/options.h"
#include "transport/fabric/rails.h"
#include "transport/seal/keys.h"

#include <memory>
#include <optional>
#include <vector>

namespace stage {

struct EngineGroup {
    std::optional<Rank> own;  ///< Without one the table of cards says it.
    std::size_t size = 1;
    bool is_source = false;   ///< Rank 0.
    std::vector<Rail> rails;  ///< For the multicast; none in a group of one.
    seal::GroupKey key{};
    std::unique_ptr<Directory> directory;
};

/// Waits for the key. `channel` must outlive the group. Fails (Blame::node) if this host has
/// none of the interfaces, or no route to the launcher's.
[[nodiscard]] Result<EngineGroup> find_group(const EngineOptions& options,
                                             LauncherChannel& channel);

}  // namespace stage

// Says how a broadcast ended: what RELEASE carries, and what it means for its receiver.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/feedback/broadcast_result.h"

#include <optional>
#include <vector>

namespace stage::core {

/// The content of RELEASE. Requires a result that has a failure or is a success.
[[nodiscard]] wire::Ending release_of(const BroadcastResult& result, const CoreConfig& config);

/// The RELEASE by which the group goes on over a relay.
[[nodiscard]] wire::Ending hand_over_of(const CoreConfig& config);
/// What RELEASE lists of the members that multicast does not reach.
[[nodiscard]] std::vector<wire::RankRun> runs_of(const std::vector<Rank>& unreached,
                                                 const CoreConfig& config);

/// How the broadcast ended for one member.
struct MemberResult {
    Phase phase = Phase::released;
    std::optional<Error> why;  ///< Only if it failed.
    Rank culprit;
    std::vector<DroppedMember> dropped;
    std::optional<Relay> relay;   ///< By which the group goes on.
    std::vector<Rank> unreached;  ///< Members that multicast does not reach.
};

/// What a RELEASE means for a receiver that holds the object or does not. Nothing if it cannot
/// be true yet: not all can hold the object while this member does not, unless it was dropped.
[[nodiscard]] std::optional<MemberResult> result_of(const wire::Ending& release,
                                                    const CoreConfig& config,
                                                    bool holds_object);

}  // namespace stage::core

#include "transport/core/membership/release.h"

#include "transport/core/base/rank_set.h"
#include "transport/core/membership/member_ending.h"

namespace stage::core {
namespace {

std::vector<DroppedMember> members_of(const RankSet& ranks) {
    std::vector<DroppedMember> members;
    for (std::uint32_t i = 0; ranks.count() > 0 && i < ranks.members(); ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (ranks.has(rank)) {
            members.push_back({.rank = rank, .why = {Blame::node, "it was dropped"}});
        }
    }
    return members;
}

std::vector<Rank> ranks_of(const std::vector<wire::RankRun>& runs, const CoreConfig& config) {
    RankSet ranks{config.members};
    ranks.add(runs);
    std::vector<Rank> all;
    for (std::uint32_t i = 0; ranks.count() > 0 && i < ranks.members(); ++i) {
        if (const Rank rank{static_cast<std::uint16_t>(i)}; ranks.has(rank)) {
            all.push_back(rank);
        }
    }
    return all;
}

}  // namespace

std::vector<wire::RankRun> runs_of(const std::vector<Rank>& unreached,
                                   const CoreConfig& config) {
    RankSet ranks{config.members};
    for (const Rank rank : unreached) {
        ranks.add(rank);
    }
    return ranks.runs(wire::kMaxUnreachedRuns, RankSet{config.members});
}

wire::Ending hand_over_of(const CoreConfig& config) {
    wire::Ending release;
    release.outcome = wire::Ending::kNodes;
    release.rank = config.source;
    release.why =
        "multicast does not reach all nodes, so that the others go on over TCP, which "
        "the stagecast of this node cannot";
    release.relay_degree = config.next_relay.number();
    return release;
}

wire::Ending release_of(const BroadcastResult& result, const CoreConfig& config) {
    wire::Ending release;
    release.rank = config.source;
    if (const auto failure = result.failure()) {
        release.outcome = outcome_of(failure->why.blame());
        release.rank = failure->rank;
        release.why = why_of(failure->why);
    }
    RankSet dropped{config.members};
    for (const DroppedMember& each : result.dropped()) {
        dropped.add(each.rank);
    }
    release.dropped_all = static_cast<std::uint16_t>(dropped.count());
    release.dropped = dropped.runs(wire::kMaxDroppedRuns, RankSet{config.members});
    return release;
}

std::optional<MemberResult> result_of(const wire::Ending& release,
                                      const CoreConfig& config,
                                      bool holds_object) {
    RankSet dropped{config.members};
    dropped.add(release.dropped);
    MemberResult result;
    result.unreached = ranks_of(release.unreached, config);
    if (release.relay_degree > 0 && config.unreached_policy == UnreachedPolicy::relay) {
        result.phase = Phase::handed_over;
        result.relay = Relay::of_number(release.relay_degree);
    } else if (release.outcome != 0) {
        result.phase = Phase::failed;
        result.culprit = release.rank;
        result.why = Error{blame_of(release.outcome), release.why};  // The culprit's, not ours.
    } else if (!holds_object) {
        // (There may be more than RELEASE has room for.)
        if (!dropped.has(config.own) && dropped.count() == release.dropped_all) {
            return std::nullopt;
        }
        result.phase = Phase::failed;
        result.culprit = config.own;
        result.why = Error{Blame::node,
                           "this node was dropped, because it was silent or too slow; the "
                           "other nodes hold the files"};
    }
    result.dropped = members_of(dropped);
    return result;
}

}  // namespace stage::core

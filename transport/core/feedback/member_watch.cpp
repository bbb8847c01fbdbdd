#include "transport/core/feedback/member_watch.h"

#include "transport/core/base/timeouts.h"

#include <algorithm>

namespace stage::core {
namespace {

constexpr int kLooks = 16;  ///< In a stall_timeout.

std::string seconds(Duration duration) {
    return std::to_string((duration.count() + 999'999'999) / 1'000'000'000) + " s";
}

}  // namespace

MemberWatch::MemberWatch(const CoreConfig& config, const Limits& limits, std::uint32_t blocks)
    : config_{config},
      limits_{limits.ending},
      timeout_{member_timeout(config, limits.feedback)},
      blocks_{blocks},
      members_(config.members) {
}

void MemberWatch::start(Instant now) {
    for (Member& member : members_) {
        member.heard_at = now;
        member.moved_at = now;
    }
    next_at_ = now + config_.stall_timeout / kLooks;
}

void MemberWatch::on_heard(Instant now, Rank rank) {
    if (rank.index() < members_.size()) {
        members_[rank.index()].heard_at = now;
    }
}

void MemberWatch::on_moved(Instant now, Rank rank) {
    if (rank.index() < members_.size()) {
        members_[rank.index()].moved_at = now;
    }
}

void MemberWatch::on_report(Instant now,
                            Rank rank,
                            std::uint32_t blocks_held,
                            std::uint32_t placed) {
    if (rank.index() >= members_.size()) {
        return;
    }
    Member& member = members_[rank.index()];
    if (blocks_held > member.held || placed != member.placed) {
        member.moved_at = now;
    }
    member.held = std::max(member.held, blocks_held);
    member.placed = placed;
}

std::optional<std::string> MemberWatch::why(Instant now, Member& member, std::uint32_t sent) {
    if (now - member.heard_at > timeout_) {
        return "nothing was heard of this node for " + seconds(timeout_) +
               ": it crashed, or its network fails";
    }
    if (member.held >= sent && member.held < blocks_) {
        member.moved_at = now;  // it has all there is to have
    }
    const bool is_finishing = member.held >= blocks_;
    const Duration limit = is_finishing ? finish_timeout(config_, limits_) : timeout_;
    if (now - member.moved_at <= limit) {
        return std::nullopt;
    }
    if (is_finishing) {
        return "this node has every block, but could not give the files their names within " +
               seconds(limit);
    }
    return "this node made no progress for " + seconds(limit) + " (" +
           std::to_string(member.held) + " of " + std::to_string(blocks_) +
           " blocks stored): its disk or its network is stuck";
}

std::vector<Accusation> MemberWatch::poll(Instant now,
                                          const RankSet& ready,
                                          const RankSet& done,
                                          const RankSet& settled,
                                          std::uint32_t sent) {
    if (!next_at_ || now < *next_at_) {
        return {};
    }
    next_at_ = now + config_.stall_timeout / kLooks;
    const bool is_first_enough = !config_.drops_failed;
    std::vector<Accusation> accused;
    std::uint32_t others = 0;
    std::uint32_t watched = 0;
    std::uint32_t silent = 0;
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (rank == config_.source || !ready.has(rank) || settled.has(rank)) {
            continue;
        }
        ++watched;
        silent += now - members_[i].heard_at > timeout_ ? 1U : 0U;
        auto reason = why(now, members_[i], sent);
        if (reason && (accused.empty() || !is_first_enough)) {
            accused.push_back({.rank = rank, .why = std::move(*reason)});
        } else if (reason) {
            ++others;
        }
    }
    // (Where others have finished, they can do without these.)
    const bool was_heard =
        !is_first_enough && done.count() > (done.has(config_.source) ? 1U : 0U);
    if (silent > 1 && silent == watched && !was_heard) {
        return {accuse_source(silent)};
    }
    if (others > 0) {
        accused.front().why +=
            " (and " + std::to_string(others) + (others == 1 ? " more node)" : " more nodes)");
    }
    return accused;
}

Accusation MemberWatch::accuse_source(std::uint32_t silent) const {
    return {.rank = config_.own,
            .why = "nothing was heard here of any of the " + std::to_string(silent) +
                   " other nodes for " + seconds(timeout_) +
                   ": the data ports (DataPortRange, UDP) are closed here, or the "
                   "network of this node fails"};
}

}  // namespace stage::core

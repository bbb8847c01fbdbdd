#include "transport/core/feedback/representatives.h"

#include <algorithm>

namespace stage::core {
namespace {

constexpr int kLooks = 4;   ///< In the time after which one is silent.
constexpr int kDraws = 64;  ///< For one that can represent.

}  // namespace

std::uint32_t representatives_of(const CoreConfig& config, const FeedbackLimits& limits) {
    return std::min<std::uint32_t>(config.members - 1U, limits.representatives);
}

bool are_all_representatives(const CoreConfig& config, const FeedbackLimits& limits) {
    return config.members - 1U <= limits.representatives;
}

Representatives::Representatives(const CoreConfig& config,
                                 const FeedbackLimits& limits,
                                 Prng& prng)
    : config_{config},
      timeout_{limits.representative_silence},
      wanted_{are_all_representatives(config, limits) ? 0U
                                                      : representatives_of(config, limits)},
      prng_{&prng} {
    const auto anyone = [](Rank) { return true; };
    while (members_.size() < wanted_) {
        if (const auto rank = draw(anyone)) {
            members_.push_back({.rank = *rank});
        }
    }
    if (wanted_ > 0) {
        name();
    }
}

bool Representatives::has(Rank rank) const {
    if (wanted_ == 0) {
        return rank != config_.source && rank.value() < config_.members;
    }
    return std::ranges::find(members_, rank, &Member::rank) != members_.end();
}

std::vector<Rank> Representatives::ranks() const {
    std::vector<Rank> ranks;
    if (wanted_ > 0) {
        std::ranges::transform(members_, std::back_inserter(ranks), &Member::rank);
        return ranks;
    }
    for (std::uint32_t i = 0; i < config_.members; ++i) {
        if (const Rank rank{static_cast<std::uint16_t>(i)}; rank != config_.source) {
            ranks.push_back(rank);
        }
    }
    return ranks;
}

/// A receiver that is none yet.
std::optional<Rank> Representatives::draw(const std::function<bool(Rank)>& can_represent) {
    for (int i = 0; i < kDraws; ++i) {
        const Rank rank{static_cast<std::uint16_t>(prng_->below(config_.members))};
        if (rank != config_.source && !has(rank) && can_represent(rank)) {
            return rank;
        }
    }
    return std::nullopt;
}

void Representatives::name() {
    std::ranges::sort(members_, {}, &Member::rank);
    wire::Representatives body;
    const std::uint16_t last = named_ ? named_->version : std::uint16_t{0};
    body.version = static_cast<std::uint16_t>(last == 0xffff ? 1 : last + 1);
    std::ranges::transform(members_, std::back_inserter(body.ranks), &Member::rank);
    named_ = std::move(body);
}

void Representatives::on_report(Instant now, Rank from) {
    const auto member = std::ranges::find(members_, from, &Member::rank);
    if (member != members_.end()) {
        member->heard_at = now;
    }
}

void Representatives::start(Instant now) {
    if (wanted_ == 0 || look_at_) {
        return;
    }
    for (Member& member : members_) {
        member.heard_at = now;
    }
    look_at_ = now;
}

bool Representatives::poll(Instant now, const std::function<bool(Rank)>& can_represent) {
    if (!look_at_ || now < *look_at_) {
        return false;
    }
    const bool was_stopped = now > *look_at_ + timeout_;  // This process, not the members.
    look_at_ = now + timeout_ / kLooks;
    bool has_changed = false;
    for (std::size_t i = members_.size(); i-- > 0;) {
        Member& member = members_[i];
        member.heard_at = was_stopped ? now : member.heard_at;
        const bool can_stay = can_represent(member.rank);
        if (can_stay && now - member.heard_at <= timeout_) {
            continue;
        }
        if (const auto other = draw(can_represent)) {
            member = {.rank = *other, .heard_at = now};
            has_changed = true;
        } else if (!can_stay) {
            members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
            has_changed = true;
        }
    }
    while (members_.size() < wanted_) {
        const auto other = draw(can_represent);
        if (!other) {
            break;
        }
        members_.push_back({.rank = *other, .heard_at = now});
        has_changed = true;
    }
    if (has_changed) {
        name();
    }
    return has_changed;
}

}  // namespace stage::core

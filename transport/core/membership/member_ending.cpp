#include "transport/core/membership/member_ending.h"

namespace stage::core {

std::string why_of(const Error& error) {
    return shortened(error.sentence(), wire::kMaxWhyBytes);
}

std::uint8_t outcome_of(Blame blame) {
    return blame == Blame::user ? wire::Ending::kUsers : wire::Ending::kNodes;
}

Blame blame_of(std::uint8_t outcome) {
    return outcome == wire::Ending::kNodes ? Blame::node : Blame::user;
}

MemberEnding::MemberEnding(const CoreConfig& config,
                           const EndingLimits& limits,
                           bool has_children)
    : config_{config},
      limits_{limits},
      has_children_{has_children},
      leaving_{{.first = limits.done_retry,
                .max = limits.done_retry_max,
                .times = limits.leave_times}} {
}

void MemberEnding::on_failure(Instant now, const Error& why) {
    if (!leave_ && !release_) {
        leave_ = wire::Ending{
            .outcome = outcome_of(why.blame()), .rank = config_.own, .why = why_of(why)};
        leaving_.start(now);
    }
}

void MemberEnding::on_release(Instant now, const wire::Ending& release, ControlQueue& out) {
    leaving_.stop();
    // After a hand-over no member answers the source again.
    const bool is_hand_over = release.relay_degree > 0;
    if (is_hand_over || config_.members <= limits_.confirming_members_max) {
        const wire::Done body{.ranks = {{.first = config_.own, .last = config_.own}}};
        out.push(wire::PacketType::done_ack,
                 {.to_group = false, .peer = config_.source},
                 wire::write(body),
                 0,
                 is_hand_over ? limits_.hand_over_confirms : std::uint16_t{1});
    }
    if (!release_) {
        release_ = release;
        if (has_children_ && !is_hand_over) {
            stays_until_ = now + limits_.answer_late_member;
        }
    }
}

void MemberEnding::answer(Rank from, ControlQueue& out) const {
    if (release_) {
        out.push_peer(wire::PacketType::release, from, wire::write(*release_));
    }
}

void MemberEnding::poll(Instant now, ControlQueue& out) {
    if (stays_until_ && now >= *stays_until_) {
        stays_until_.reset();
    }
    if (leave_ && leaving_.is_due(now)) {
        out.push_peer(wire::PacketType::leave, config_.source, wire::write(*leave_));
    }
}

std::optional<Instant> MemberEnding::deadline() const {
    return earlier(leaving_.deadline(), stays_until_);
}

}  // namespace stage::core

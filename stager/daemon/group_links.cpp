// Who is above and below, who is lost, and when is it time? The part of Group about its
// neighbours.
#include "stager/daemon/group.h"

#include <algorithm>

namespace stage {

/// Before anything is judged by the clock.
void Group::notice_pause(Instant now) {
    const auto due = deadline();
    if (!due || now < *due + times_.pause_min) {
        return;
    }
    const Duration pause = now - *due;
    branches_.excuse(pause);
    parent_until_ += pause;
    if (pause >= times_.branch.silence_max && !verdict_) {
        using std::chrono::seconds;
        const auto length = std::chrono::duration_cast<seconds>(pause).count();
        fail(now,
             Blame::node,
             "stagecastd did not run for " + std::to_string(length) +
                 " s while it staged; was it stopped, or the machine suspended?");
        decide_now(now);
    }
}

bool Group::on_parent(Instant now, Rank from) {
    notice_pause(now);
    if (is_root() || !seat_.tree.is_ancestor(from, seat_.self)) {
        return false;
    }
    if (above_ == Above::up && parent_ != from) {
        commands_.emplace_back(group::Hangup{parent_});
    }
    above_ = Above::up;
    parent_ = from;
    parent_until_ = now + times_.branch.silence_max;
    if (!failures_.empty()) {
        unsent_.clear();
        send(parent_, FailedMessage{failures_.named()});
    }
    if (finished_) {
        send(parent_, SettledMessage{});
    }
    return true;
}

void Group::on_link_up(Instant now, Rank to) {
    notice_pause(now);
    if (finished_ || !branches_.on_up(now, to)) {
        commands_.emplace_back(group::Hangup{to});
        return;
    }
    send_setup(now, to);
    if (moved_.move > 0) {
        send(to, moved_);
    } else if (direct_) {
        send(to, DirectMessage{});
    }
    if (verdict_) {
        send(to, *verdict_);
    }
}

void Group::on_link_down(Instant now, Rank rank, const std::string& why) {
    notice_pause(now);
    if (above_ == Above::up && rank == parent_) {
        above_ = Above::lost;
        parent_until_ = now + (rank == Rank{0} ? times_.rootless_max() : times_.orphan_max());
        return;
    }
    branches_.on_down(now, rank, why);
    after_branches(now);
}

/// What the link said is a sentence already; a branch that fell silent left none.
std::string Group::said_of(const LostBranch& lost) const {
    if (!lost.why.empty()) {
        return lost.why;
    }
    const std::size_t rank = lost.rank.index();
    const std::string place = rank < seat_.places.size() ? " at " + seat_.places[rank] : "";
    return lost.was_up ? "stagecastd" + place +
                             " fell silent while staging; is it stopped, or the network cut?"
                       : "stagecastd does not answer" + place +
                             "; is it running there, and does Port let us through?";
}

/// Says what the branches ask for: connections, and the names of the lost.
void Group::after_branches(Instant now) {
    for (const LostBranch& lost : branches_.take_lost()) {
        commands_.emplace_back(group::Hangup{lost.rank});
        note(now, {lost.rank, Blame::node, said_of(lost)});
    }
    for (const Rank rank : branches_.take_connects()) {
        commands_.emplace_back(group::Connect{rank});
    }
    finish_if_settled();
}

void Group::send_setup(Instant now, Rank to) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - now).count();
    send(to,
         SetupMessage{
             .key = seat_.key,
             .from = seat_.self,
             .to = to,
             .remaining_ms = static_cast<std::uint32_t>(std::max<std::int64_t>(left, 0)),
             .plan = seat_.plan});
}

void Group::on_time(Instant now) {
    if (finished_) {
        return;
    }
    notice_pause(now);
    branches_.on_time(now);
    after_branches(now);
    if (above_ == Above::up && now >= parent_until_) {
        commands_.emplace_back(group::Hangup{parent_});
        above_ = Above::lost;
        parent_until_ = now + times_.orphan_max();
    }
    if (!verdict_ && above_ == Above::lost && now >= parent_until_) {
        const std::size_t above = seat_.tree.parent(seat_.self).value_or(Rank{0}).index();
        decide_alone(now,
                     "no contact with the stagecastd of node " + seat_.names.at(above) +
                         " any more; see its log, and the network between the nodes");
    }
    if (!verdict_ && draw_at_ && now >= *draw_at_) {
        draw(now);
    }
    if (!verdict_ && now >= own_deadline()) {
        decide_alone(now, "staging was not done within StageTimeout");
    }
    if (now >= pulse_at_) {
        pulse_at_ = now + times_.pulse;
        send_below(PulseMessage{});
        send_above(PulseMessage{progress()});
    }
    if (cut_at_ && now >= *cut_at_) {
        finished_ = true;
        for (const Rank rank : branches_.listeners()) {
            commands_.emplace_back(group::Hangup{rank});
        }
    }
}

std::optional<Instant> Group::deadline() const {
    if (finished_) {
        return std::nullopt;
    }
    Instant first = pulse_at_;
    const auto sooner = [&](std::optional<Instant> other) {
        first = other ? std::min(first, *other) : first;
    };
    sooner(branches_.deadline());
    sooner(draw_at_);
    sooner(cut_at_);
    if (above_ != Above::root && (above_ == Above::up || !verdict_)) {
        sooner(parent_until_);
    }
    if (!verdict_) {
        sooner(own_deadline());
    }
    return first;
}

}  // namespace stage

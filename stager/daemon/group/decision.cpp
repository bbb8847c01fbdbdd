#include "stager/daemon/group/decision.h"

#include "stager/daemon/tree/outcome.h"

#include <algorithm>
#include <utility>

namespace stage {

Decision::Decision(const GroupSeat& seat,
                   const GroupTimes& times,
                   NeighbourLinks& links,
                   Collectives& collectives,
                   Instant deadline)
    : seat_{seat},
      times_{times},
      links_{links},
      collectives_{collectives},
      deadline_{deadline} {
}

/// A node that has received no verdict a margin after the root's deadline decides for itself.
Instant Decision::own_deadline() const {
    return seat_.is_root() ? deadline_ : deadline_ + times_.margin;
}

bool Decision::can_go_on_without(Rank rank) const {
    return seat_.drops_failed && collectives_.all_listen() && rank != Rank{0};
}

// ---- failures

/// The root's own failure ends the stage, whatever node its worker, the source, blames.
void Decision::fail(Instant now, Failure failure) {
    if (seat_.is_root() && seat_.drops_failed) {
        end_by(now, std::move(failure));
        return;
    }
    if (seat_.drops_failed && failure.rank == seat_.self && !own_failure_) {
        own_failure_ = failure;
    }
    note(now, std::move(failure));
    report_own_failure(now);
}

/// Once all workers listen the group goes on without this node, whose outcome is its failure
/// unless it has reported one: the others would await it.
void Decision::report_own_failure(Instant now) {
    if (verdict_ || !own_failure_ || !collectives_.all_listen()) {
        return;
    }
    const NodeOutcome outcome{.state = VerdictState::failed,
                              .blame = own_failure_->blame,
                              .sentence = own_failure_->sentence};
    on_step(
        now,
        collectives_.contribute(Collective::outcome, 0, encode(outcome, seat_.tree.size())));
}

void Decision::note(Instant now, Failure failure) {
    if (verdict_ || !seat_.has(failure.rank)) {
        return;
    }
    const std::size_t known = failures_.count();
    // (Where failed nodes are dropped each of them counts, not only those that are named.)
    const bool is_new =
        failures_.add(failure) || (seat_.drops_failed && failures_.count() > known);
    if (seat_.is_root() && !can_go_on_without(failure.rank)) {
        end_by(now, std::move(failure));
    } else if (!seat_.is_root() && is_new) {
        links_.send_above(FailedMessage{{std::move(failure)}});
    }
}

/// At the root: the verdict is that failure, and what else is known a moment later.
void Decision::end_by(Instant now, Failure failure) {
    if (verdict_ || !seat_.has(failure.rank)) {
        return;
    }
    static_cast<void>(failures_.add(std::move(failure)));
    decide_at_ = decide_at_.value_or(seat_.tree.size() == 1 ? now : now + times_.grace);
    if (now >= *decide_at_) {
        settle(now, failed(failures_));
    }
}

void Decision::lose(Instant now, Failure failure) {
    const Rank lost = failure.rank;
    note(now, std::move(failure));
    on_step(now, collectives_.await_instead(lost, seat_.tree.children(lost)));
}

void Decision::name_awaited(Instant now, Blame blame, const std::string& why) {
    std::vector<Rank> late = collectives_.awaited();
    std::erase_if(late, [this](Rank rank) {
        return rank == seat_.self || !seat_.tree.children(rank).empty();
    });
    for (const Rank rank : late) {
        note(now, {rank, blame, why});
        on_step(now, collectives_.await_instead(rank, {}));
    }
}

void Decision::on_step(Instant now, Collectives::Step step) {
    if (step.failure) {
        note(now, std::move(*step.failure));
    }
    if (!step.outcomes || decide_at_) {
        return;  // A failure ends the stage.
    }
    GroupVerdict verdict = seat_.drops_failed
                               ? verdict_without_failed(*step.outcomes, seat_.names, failures_)
                               : verdict_of(*step.outcomes, seat_.names);
    settle(now, std::move(verdict), std::move(*step.outcomes));
}

// ---- nodes that are dropped

void Decision::drop(Instant now, const Failure& failure) {
    if (seat_.is_root() && can_go_on_without(failure.rank)) {
        on_drop(now, {failure});
    }
}

/// A daemon that runs answers at once, by its node's outcome.
void Decision::on_drop(Instant now, const DropMessage& drop) {
    const Rank rank = drop.failure.rank;
    const auto is_same = [rank](const DropMessage& other) {
        return other.failure.rank == rank;
    };
    if (verdict_ || !seat_.drops_failed || !seat_.has(rank) ||
        std::ranges::any_of(drops_, is_same)) {
        return;
    }
    drops_.push_back(drop);
    links_.send_below(drop);
    links_.hurry(now, rank);
    if (rank == seat_.self) {
        links_.command(group::Drop{drop.failure});
    }
}

// ---- the verdict

GroupVerdict Decision::failed(const Failures& failures) const {
    return {.state = VerdictState::failed,
            .blame = failures.blame(),
            .sentence = failures.sentence(seat_.names),
            .culprit = failures.culprit()};
}

void Decision::decide_now(Instant now) {
    if (!verdict_ && seat_.is_root() && !failures_.empty()) {
        settle(now, failed(failures_));
    }
}

void Decision::decide_alone(Instant now, const std::string& why) {
    Failures all = failures_;
    if (all.empty()) {
        all.add({seat_.self, Blame::node, why});
    }
    settle(now, failed(all));
}

void Decision::on_time(Instant now) {
    if (!verdict_ && links_.is_orphan(now)) {
        const std::size_t above = seat_.tree.parent(seat_.self).value_or(Rank{0}).index();
        decide_alone(now,
                     "lost the connection to stagecastd on node " + seat_.names.at(above) +
                         "; see its log, and check the network between the nodes");
    }
    if (!verdict_ && decide_at_ && now >= *decide_at_) {
        settle(now, failed(failures_));
    }
    if (!verdict_ && now >= own_deadline()) {
        decide_alone(now, "the stage was not done within StageTimeout");
    }
}

void Decision::settle(Instant now, GroupVerdict verdict, std::vector<Contribution> outcomes) {
    if (verdict_) {
        return;
    }
    verdict_ = std::move(verdict);
    cut_at_ = now + times_.settle_max;
    decide_at_.reset();
    collectives_.end();
    // Giving up a node too soon costs nothing now: those below it get the verdict from another.
    links_.hurry(now);
    links_.send_below(*verdict_);
    links_.command(group::Settle{*verdict_, std::move(outcomes)});
    finish_if_settled();
}

void Decision::finish_if_settled() {
    if (!verdict_ || finished_ || !links_.all_settled()) {
        return;
    }
    finished_ = true;
    links_.send_above(SettledMessage{});
}

void Decision::cut_off(Instant now) {
    if (cut_at_ && now >= *cut_at_) {
        finished_ = true;
        links_.hang_up_below();
    }
}

void Decision::leave(const std::string& why) {
    const Failure own{seat_.self, Blame::node, why};
    failures_.add(own);
    links_.hang_up_below();
    collectives_.end();
    decide_at_.reset();
    verdict_ = GroupVerdict{.state = VerdictState::failed,
                            .blame = own.blame,
                            .sentence = failures_.sentence(seat_.names),
                            .culprit = seat_.self};
    finished_ = true;
    links_.command(group::Settle{*verdict_, {}});
}

std::optional<Instant> Decision::deadline() const {
    if (verdict_) {
        return cut_at_;
    }
    return decide_at_ ? std::min(*decide_at_, own_deadline()) : own_deadline();
}

// ---- over a new link

void Decision::inform(Rank below) {
    for (const DropMessage& drop : drops_) {
        links_.send(below, drop);
    }
    if (verdict_) {
        links_.send(below, *verdict_);
    }
}

void Decision::inform_parent_of_failures() {
    if (failures_.empty()) {
        return;
    }
    links_.send_above(FailedMessage{failures_.named()});
    for (const Rank rank : seat_.drops_failed ? failures_.unnamed() : std::vector<Rank>{}) {
        links_.send_above(FailedMessage{{{rank, Blame::node, "failed, as other nodes did"}}});
    }
}

void Decision::inform_parent_of_end() {
    if (finished_) {
        links_.send_above(SettledMessage{});
    }
}

}  // namespace stage

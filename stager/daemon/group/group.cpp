#include "stager/daemon/group/group.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

std::string did_not_run(Duration pause) {
    const auto length = std::chrono::duration_cast<std::chrono::seconds>(pause).count();
    return "stagecastd did not run for " + std::to_string(length) +
           " s during the stage; was it stopped, or the machine suspended?";
}

TreeMessage setup_of(const GroupSeat& seat, Rank to, Duration left) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    return SetupMessage{
        .key = seat.key,
        .from = seat.self,
        .to = to,
        .remaining_ms = static_cast<std::uint32_t>(std::max<std::int64_t>(ms, 0)),
        .plan = seat.plan};
}

}  // namespace

Group::Group(GroupSeat seat, GroupTimes times, Instant now, Instant deadline)
    : seat_{std::move(seat)},
      times_{times},
      links_{seat_, times, now},
      collectives_{seat_, links_},
      decision_{seat_, times, links_, collectives_, deadline},
      deadline_{deadline},
      pulse_at_{now + times.pulse} {
    after_links(now);
}

// ---- messages

bool Group::on_message(Instant now, Rank from, TreeMessage message) {
    notice_pause(now);
    switch (links_.on_heard(now, from)) {
        case NeighbourLinks::Side::above:
            return from_above(now, message);
        case NeighbourLinks::Side::below:
            return from_below(now, from, message);
        case NeighbourLinks::Side::none:
            break;
    }
    return false;
}

bool Group::from_above(Instant now, TreeMessage& message) {
    if (const auto* result = std::get_if<ResultMessage>(&message)) {
        collectives_.on_result(*result);
        decision_.report_own_failure(now);
    } else if (auto* verdict = std::get_if<GroupVerdict>(&message)) {
        decision_.settle(now, std::move(*verdict));
    } else if (std::holds_alternative<DirectMessage>(message)) {
        collectives_.begin_epoch(collectives_.epoch().without_pmix());
    } else if (const auto* moved = std::get_if<PortsMessage>(&message)) {
        collectives_.begin_epoch(
            {.draws = moved->move, .port = moved->port, .cards_follow = true});
    } else if (const auto* drop = std::get_if<DropMessage>(&message)) {
        decision_.on_drop(now, *drop);
    } else {
        return std::holds_alternative<PulseMessage>(message);
    }
    return true;
}

bool Group::from_below(Instant now, Rank from, TreeMessage& message) {
    if (auto* gathered = std::get_if<GatheredMessage>(&message)) {
        Collectives::Step step = collectives_.on_gathered(from, std::move(*gathered));
        const bool is_allowed = step.is_allowed;
        decision_.on_step(now, std::move(step));
        return is_allowed;
    }
    if (auto* asked = std::get_if<PortsMessage>(&message)) {
        if (asked->rank != from && !seat_.tree.is_ancestor(from, asked->rank)) {
            return false;
        }
        request_port(
            now, std::move(*asked), "the group's UDP ports are in use by other programs");
    } else if (auto* failed = std::get_if<FailedMessage>(&message)) {
        for (Failure& failure : failed->failures) {
            decision_.note(now, std::move(failure));
        }
    } else if (std::holds_alternative<DirectMessage>(message)) {
        request_direct(now, "the wire-up was lost on another node");
    } else if (std::holds_alternative<SettledMessage>(message) && verdict()) {
        links_.on_settled(from);
        decision_.finish_if_settled();
    } else if (const auto* pulse = std::get_if<PulseMessage>(&message)) {
        progress_below_[from] = pulse->progress;
    } else {
        return false;
    }
    return true;
}

TreeProgress Group::progress() const {
    TreeProgress all = own_progress_;
    for (const auto& [rank, below] : progress_below_) {
        all.done += below.done;
        if (below.bytes_least < all.bytes_least && seat_.has(below.slowest)) {
            all.bytes_least = below.bytes_least;
            all.slowest = below.slowest;
        }
    }
    return all;
}

// ---- from this node

void Group::contribute(Instant now,
                       Collective kind,
                       std::uint32_t sequence,
                       std::vector<std::byte> bytes) {
    Collectives::Step step = collectives_.contribute(kind, sequence, std::move(bytes));
    if (step.is_allowed) {
        decision_.on_step(now, std::move(step));
    } else {
        fail(now, Blame::internal, "this node contributed twice to a collective");
    }
}

void Group::fail(Instant now, Blame blame, std::string sentence) {
    fail(now, {seat_.self, blame, std::move(sentence)});
}

void Group::request_direct(Instant now, const std::string& why) {
    if (auto failure = collectives_.request_direct(why)) {
        fail(now, std::move(*failure));
    }
}

void Group::request_port(Instant now,
                         std::vector<std::uint16_t> taken,
                         const std::string& why) {
    request_port(now,
                 {.move = collectives_.epoch().draws,
                  .port = 0,
                  .rank = seat_.self,
                  .taken = std::move(taken)},
                 why);
}

void Group::request_port(Instant now, PortsMessage asked, const std::string& why) {
    if (auto failure = collectives_.request_port(std::move(asked), why)) {
        fail(now, std::move(*failure));
    }
}

void Group::begin_at(std::uint16_t port) {
    collectives_.begin_epoch(collectives_.epoch().at_port(port));
}

// ---- links

bool Group::on_parent(Instant now, Rank from) {
    notice_pause(now);
    if (!links_.take_parent(now, from)) {
        return false;
    }
    decision_.inform_parent_of_failures();
    collectives_.inform_parent();
    decision_.inform_parent_of_end();
    return true;
}

void Group::on_link_up(Instant now, Rank to) {
    notice_pause(now);
    if (is_finished() || !links_.on_up(now, to)) {
        links_.hang_up(to);
        return;
    }
    links_.send(to, setup_of(seat_, to, deadline_ - now));
    collectives_.inform(to);
    decision_.inform(to);
}

void Group::on_link_down(Instant now, Rank rank, const Error& why) {
    notice_pause(now);
    if (!is_finished()) {
        // From then on all that was sent over the link and may be lost is sent again.
        const bool may_redial = collectives_.all_listen() && why.cause() != 0;
        links_.on_down(now, rank, why, may_redial);
        after_links(now);
    }
}

/// Carries out what the links ask for: makes connections, and reports the lost ones.
void Group::after_links(Instant now) {
    for (const LostBranch& lost : links_.take_lost()) {
        links_.hang_up(lost.rank);
        decision_.lose(now, {lost.rank, Blame::node, links_.sentence_of(lost)});
    }
    links_.connect();
    decision_.finish_if_settled();
}

// ---- time

/// Must run before anything is decided by the clock.
void Group::notice_pause(Instant now) {
    const auto due = deadline();
    if (!due || now < *due + times_.pause_min) {
        return;
    }
    const Duration pause = now - *due;
    links_.excuse(pause);
    if (verdict()) {
        return;
    }
    if (seat_.can_leave()) {
        links_.doubt(now, pause);
    } else if (pause >= times_.branch.silence_max) {
        fail(now, Blame::node, did_not_run(pause));
        decide_now(now);
    }
}

void Group::end_doubt(Instant now) {
    const bool is_decided = verdict().has_value();
    const Duration pause = links_.end_doubt(now, is_decided);
    if (!is_decided && links_.is_without_parent()) {
        decision_.leave(did_not_run(pause));
    } else {
        after_links(now);
    }
}

void Group::pulse(Instant now) {
    if (now >= pulse_at_) {
        pulse_at_ = now + times_.pulse;
        links_.send_below(PulseMessage{});
        links_.send_above(PulseMessage{progress()});
    }
}

void Group::on_time(Instant now) {
    if (is_finished()) {
        return;
    }
    notice_pause(now);
    links_.on_time(now);
    after_links(now);
    if (links_.is_doubt_over(now)) {
        end_doubt(now);
    }
    if (is_finished()) {
        return;
    }
    links_.check_parent(now);
    decision_.on_time(now);
    pulse(now);
    decision_.cut_off(now);
}

std::optional<Instant> Group::deadline() const {
    if (is_finished()) {
        return std::nullopt;
    }
    const auto of_links = links_.deadline(verdict().has_value());
    const auto of_decision = decision_.deadline();
    return std::min({pulse_at_, of_links.value_or(pulse_at_), of_decision.value_or(pulse_at_)});
}

}  // namespace stage

#include "stager/daemon/tree/group.h"

#include "stager/daemon/tree/outcome.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

/// Open collectives of a stage; a worker makes one or two fences and a group.
constexpr std::size_t kMaxGathers = 16;

std::vector<std::byte> concatenated(const std::vector<Contribution>& all) {
    ByteWriter writer;
    for (const Contribution& one : all) {
        writer.raw(one.bytes);
    }
    return writer.take();
}

std::string did_not_run(Duration pause) {
    const auto length = std::chrono::duration_cast<std::chrono::seconds>(pause).count();
    return "stagecastd did not run for " + std::to_string(length) +
           " s during the stage; was it stopped, or the machine suspended?";
}

/// The contributions are under the user's control: the node with the longest one is named.
Failure too_long(const std::vector<Contribution>& all) {
    const auto longest =
        std::max_element(all.begin(), all.end(), [](const auto& one, const auto& other) {
            return one.bytes.size() < other.bytes.size();
        });
    return {longest->rank,
            Blame::user,
            "the nodes' business cards are too long for one message (" +
                std::to_string(all.size()) + " nodes, " + std::to_string(length_of(all)) +
                " bytes); stage for fewer nodes"};
}

}  // namespace

Group::Group(GroupSeat seat, GroupTimes times, Instant now, Instant deadline)
    : seat_{std::move(seat)},
      times_{times},
      branches_{seat_.tree, seat_.self, times.branch},
      deadline_{deadline},
      pulse_at_{now + times.pulse},
      above_{seat_.self == Rank{0} ? Above::root : Above::lost},
      parent_until_{now + times.orphan_max()},
      epoch_{seat_.epoch} {
    branches_.start(now);
    after_branches(now);
}

// ---- messages

bool Group::on_message(Instant now, Rank from, TreeMessage message) {
    notice_pause(now);
    if (above_ == Above::up && from == parent_) {
        parent_until_ = now + times_.branch.silence_max;
        return from_above(now, message);
    }
    if (!branches_.is_up(from)) {
        return false;
    }
    branches_.on_heard(now, from);
    return from_below(now, from, message);
}

bool Group::from_above(Instant now, TreeMessage& message) {
    if (auto* result = std::get_if<ResultMessage>(&message)) {
        const bool is_present = epoch_.has(result->kind, result->sequence);
        const bool is_again = is_present && result->kind == Collective::listening &&
                              std::exchange(listening_, *result) == *result;
        if (!verdict_ && is_present && !is_again) {
            send_below(*result);
            commands_.emplace_back(
                group::Deliver{result->kind, result->sequence, std::move(result->bytes)});
        }
        report_own_failure(now);
        return true;
    }
    if (auto* verdict = std::get_if<GroupVerdict>(&message)) {
        settle(now, std::move(*verdict));
        return true;
    }
    if (std::holds_alternative<DirectMessage>(message)) {
        begin_epoch(epoch_.without_pmix());
        return true;
    }
    if (const auto* moved = std::get_if<PortsMessage>(&message)) {
        begin_epoch({.draws = moved->move, .port = moved->port, .cards_follow = true});
        return true;
    }
    if (const auto* drop = std::get_if<DropMessage>(&message)) {
        take_drop(now, *drop);
        return true;
    }
    return std::holds_alternative<PulseMessage>(message);
}

bool Group::from_below(Instant now, Rank from, TreeMessage& message) {
    if (auto* gathered = std::get_if<GatheredMessage>(&message)) {
        const auto& list = gathered->contributions;
        const bool theirs = std::all_of(list.begin(), list.end(), [&](const auto& one) {
            return one.rank == from || seat_.tree.is_ancestor(from, one.rank);
        });
        return theirs && gather(now,
                                from,
                                {gathered->kind, gathered->sequence},
                                std::move(gathered->contributions));
    }
    if (auto* failed = std::get_if<FailedMessage>(&message)) {
        for (Failure& failure : failed->failures) {
            note(now, std::move(failure));
        }
        return true;
    }
    if (std::holds_alternative<DirectMessage>(message)) {
        request_direct(now, "the wire-up was lost on another node");
        return true;
    }
    if (auto* asked = std::get_if<PortsMessage>(&message)) {
        if (asked->rank != from && !seat_.tree.is_ancestor(from, asked->rank)) {
            return false;
        }
        ask_for_port(
            now, std::move(*asked), "the group's UDP ports are in use by other programs");
        return true;
    }
    if (std::holds_alternative<SettledMessage>(message)) {
        if (!verdict_) {
            return false;
        }
        branches_.on_settled(from);
        commands_.emplace_back(group::Hangup{from});
        finish_if_settled();
        return true;
    }
    if (const auto* pulse = std::get_if<PulseMessage>(&message)) {
        progress_below_[from] = pulse->progress;
        return true;
    }
    return false;
}

TreeProgress Group::progress() const {
    TreeProgress all = own_progress_;
    for (const auto& [rank, below] : progress_below_) {
        all.done += below.done;
        if (below.bytes_least < all.bytes_least && below.slowest.index() < seat_.tree.size()) {
            all.bytes_least = below.bytes_least;
            all.slowest = below.slowest;
        }
    }
    return all;
}

// ---- collectives

void Group::contribute(Instant now,
                       Collective kind,
                       std::uint32_t sequence,
                       std::vector<std::byte> bytes) {
    std::vector<Contribution> own;
    own.push_back({seat_.self, std::move(bytes)});
    if (!gather(now, seat_.self, {kind, sequence}, std::move(own))) {
        fail(now, Blame::internal, "this node contributed twice to a collective");
    }
}

bool Group::gather(Instant now,
                   Rank from,
                   GatherKey key,
                   std::vector<Contribution> contributions) {
    if (verdict_ || !epoch_.has(key.first, key.second)) {
        return true;  // It comes too late, and changes nothing.
    }
    auto found = gathers_.find(key);
    if (found == gathers_.end()) {
        if (gathers_.size() >= kMaxGathers) {
            return false;
        }
        const bool may_be_lost = seat_.drops_failed && key.first == Collective::outcome;
        found =
            gathers_
                .try_emplace(key,
                             seat_.self,
                             may_be_lost ? branches_.kept() : seat_.tree.children(seat_.self))
                .first;
    }
    if (!found->second.add(from, std::move(contributions))) {
        // From a re-parented grandchild, or one that was dropped: it comes too late. An outcome
        // is sent again where a link was made again. A node that fails listens for the others.
        return from == seat_.self
                   ? key.first == Collective::listening
                   : key.first == Collective::outcome || !seat_.tree.parent(from) ||
                         *seat_.tree.parent(from) != seat_.self;
    }
    if (found->second.complete()) {
        conclude(now, key, found->second.take());
    }
    return true;
}

void Group::conclude(Instant now, GatherKey key, std::vector<Contribution> all) {
    const auto [kind, sequence] = key;
    const bool stays_here = is_root() && kind == Collective::outcome;
    if (!stays_here && length_of(all) > kMaxGathered) {
        note(now, too_long(all));
        return;
    }
    if (!is_root()) {
        GatheredMessage gathered{kind, sequence, std::move(all)};
        if (kind == Collective::outcome) {
            outcomes_sent_ = gathered;
        }
        send_above(std::move(gathered));
        return;
    }
    if (kind == Collective::outcome) {
        conclude_outcomes(now, std::move(all));
        return;
    }
    if (kind == Collective::listening) {
        listening_ = ResultMessage{kind, sequence, {}};
    }
    std::vector<std::byte> bytes;
    if (kind == Collective::fence) {
        bytes = concatenated(all);
    } else if (kind == Collective::group) {
        bytes = ByteWriter{}.u64(seat_.context_base + sequence).take();
    } else if (kind == Collective::cards) {
        ByteWriter writer;
        put_contributions(writer, all);
        bytes = writer.take();
    }
    send_below(ResultMessage{kind, sequence, bytes});
    commands_.emplace_back(group::Deliver{kind, sequence, std::move(bytes)});
}

void Group::conclude_outcomes(Instant now, std::vector<Contribution> all) {
    if (draw_at_) {
        return;  // A failure ends the stage.
    }
    GroupVerdict verdict = seat_.drops_failed
                               ? verdict_without_failed(all, seat_.names, failures_)
                               : verdict_of(all, seat_.names);
    settle(now, std::move(verdict), std::move(all));
}

// ---- failure

void Group::fail(Instant now, Blame blame, std::string sentence) {
    fail(now, {seat_.self, blame, std::move(sentence)});
}

/// The root's own failure ends the stage, whatever node its worker, the source, blames.
void Group::fail(Instant now, Failure failure) {
    if (is_root() && seat_.drops_failed) {
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
void Group::report_own_failure(Instant now) {
    if (verdict_ || !own_failure_ || !listening_) {
        return;
    }
    const NodeOutcome outcome{.state = VerdictState::failed,
                              .blame = own_failure_->blame,
                              .sentence = own_failure_->sentence,
                              .statistics = {}};
    std::vector<Contribution> own;
    own.push_back({seat_.self, encode(outcome, seat_.tree.size())});
    static_cast<void>(gather(now, seat_.self, {Collective::outcome, 0}, std::move(own)));
}

void Group::drop(Instant now, const Failure& failure) {
    if (is_root() && can_go_on_without(failure.rank)) {
        take_drop(now, {failure});
    }
}

/// A daemon that runs answers at once, by its node's outcome.
void Group::take_drop(Instant now, const DropMessage& drop) {
    const auto is_same = [&drop](const DropMessage& other) {
        return other.failure.rank == drop.failure.rank;
    };
    if (verdict_ || !seat_.drops_failed || drop.failure.rank.index() >= seat_.tree.size() ||
        std::ranges::any_of(drops_, is_same)) {
        return;
    }
    drops_.push_back(drop);
    send_below(drop);
    branches_.hurry(now, drop.failure.rank, times_.silence_min());
    if (drop.failure.rank == seat_.self) {
        commands_.emplace_back(group::Drop{drop.failure});
    }
}

void Group::request_direct(Instant now, const std::string& why) {
    if (verdict_ || epoch_.cards_follow) {
        return;
    }
    if (gathers_.count({Collective::outcome, 0}) > 0) {
        fail(now, Blame::node, why);
    } else if (is_root()) {
        begin_epoch(epoch_.without_pmix());
    } else {
        send_above(DirectMessage{});
    }
}

/// The workers of earlier epochs have ended, and their contributions are void.
void Group::begin_epoch(const Epoch& epoch) {
    if (verdict_ || !epoch.is_after(epoch_)) {
        return;
    }
    epoch_ = epoch;
    listening_.reset();
    std::erase_if(gathers_, [this](const auto& one) {
        return !epoch_.has(one.first.first, one.first.second);
    });
    send_below(epoch_message());
    commands_.emplace_back(group::BeginEpoch{epoch_});
}

TreeMessage Group::epoch_message() const {
    if (epoch_.draws == 0) {
        return DirectMessage{};
    }
    return PortsMessage{.move = epoch_.draws, .port = epoch_.port, .rank = {}, .taken = {}};
}

void Group::note(Instant now, Failure failure) {
    if (verdict_ || failure.rank.index() >= seat_.tree.size()) {
        return;
    }
    const std::size_t known = failures_.count();
    // (Where failed nodes are dropped each of them counts, not only those that are named.)
    const bool is_new =
        failures_.add(failure) || (seat_.drops_failed && failures_.count() > known);
    if (is_root() && !can_go_on_without(failure.rank)) {
        end_by(now, std::move(failure));
    } else if (!is_root() && is_new) {
        send_above(FailedMessage{{std::move(failure)}});
    }
}

/// At the root: the verdict is that failure, and what else is known a moment later.
void Group::end_by(Instant now, Failure failure) {
    if (verdict_ || failure.rank.index() >= seat_.tree.size()) {
        return;
    }
    static_cast<void>(failures_.add(std::move(failure)));
    draw_at_ = draw_at_.value_or(seat_.tree.size() == 1 ? now : now + times_.grace);
    if (now >= *draw_at_) {
        draw(now);
    }
}

/// Where failed nodes are dropped, nothing more is awaited of a lost one.
void Group::await_instead(Instant now, Rank lost, const std::vector<Rank>& below) {
    const GatherKey key{Collective::outcome, 0};
    const auto found = gathers_.find(key);
    if (verdict_ || !seat_.drops_failed || found == gathers_.end() ||
        found->second.complete()) {
        return;
    }
    found->second.replace(lost, below);
    if (found->second.complete()) {
        conclude(now, key, found->second.take());
    }
}

void Group::draw(Instant now) {
    settle(now,
           {.state = VerdictState::failed,
            .blame = failures_.blame(),
            .sentence = failures_.sentence(seat_.names),
            .culprit = failures_.culprit()});
}

void Group::decide_now(Instant now) {
    if (!verdict_ && is_root() && !failures_.empty()) {
        draw(now);
    }
}

void Group::name_awaited(Instant now, Blame blame, const std::string& why) {
    std::vector<Rank> late;
    for (const auto& [key, gather] : gathers_) {
        for (const Rank rank : gather.awaited()) {
            if (rank != seat_.self && seat_.tree.children(rank).empty()) {
                late.push_back(rank);
            }
        }
    }
    for (const Rank rank : late) {
        note(now, {rank, blame, why});
        await_instead(now, rank, {});
    }
}

void Group::decide_alone(Instant now, const std::string& why) {
    Failures all = failures_;
    if (all.empty()) {
        all.add({seat_.self, Blame::node, why});
    }
    settle(now,
           {.state = VerdictState::failed,
            .blame = all.blame(),
            .sentence = all.sentence(seat_.names),
            .culprit = all.culprit()});
}

void Group::settle(Instant now, GroupVerdict verdict, std::vector<Contribution> outcomes) {
    if (verdict_) {
        return;
    }
    verdict_ = std::move(verdict);
    cut_at_ = now + times_.settle_max;
    draw_at_.reset();
    gathers_.clear();
    // Giving up a node too soon costs nothing now: those below it get the verdict from another.
    branches_.hurry(now, times_.silence_min());
    send_below(*verdict_);
    commands_.emplace_back(group::Settle{*verdict_, std::move(outcomes)});
    finish_if_settled();
}

void Group::finish_if_settled() {
    if (!verdict_ || finished_ || !branches_.all_settled()) {
        return;
    }
    finished_ = true;
    send_above(SettledMessage{});
}

std::vector<group::Command> Group::take_commands() {
    return std::exchange(commands_, {});
}

// ---- sending

void Group::send(Rank to, TreeMessage message) {
    commands_.emplace_back(group::Send{to, std::move(message)});
}

void Group::send_below(const TreeMessage& message) {
    for (const Rank rank : branches_.listeners()) {
        send(rank, message);
    }
}

void Group::send_above(TreeMessage message) {
    if (above_ == Above::up) {
        send(parent_, std::move(message));
    }
}

/// Must run before anything is decided by the clock.
void Group::notice_pause(Instant now) {
    const auto due = deadline();
    if (!due || now < *due + times_.pause_min) {
        return;
    }
    const Duration pause = now - *due;
    branches_.excuse(pause);
    parent_until_ += pause;
    if (verdict_) {
        return;
    }
    if (seat_.drops_failed && !is_root()) {
        notice_long_pause(now, pause);
    } else if (pause >= times_.branch.silence_max) {
        fail(now, Blame::node, did_not_run(pause));
        decide_now(now);
    }
}

/// Where failed nodes are dropped, the others may have gone on without this node. The nodes
/// below it have another parent then, and it must not take their children for its own. What
/// its parent has done, and the nodes below it, shows when it has read what had arrived.
void Group::notice_long_pause(Instant now, Duration pause) {
    if (pause + 2 * times_.pulse >= times_.silence_min()) {
        pause_ = std::max(pause, pause_);
        doubt_until_ = now + 2 * times_.pulse;
    }
}

void Group::end_doubt(Instant now) {
    doubt_until_.reset();
    const Duration pause = std::exchange(pause_, Duration{0});
    const auto closed = std::exchange(closed_in_doubt_, {});
    if (verdict_) {
        return;
    }
    if (above_ == Above::lost) {
        leave(did_not_run(pause));
        return;
    }
    for (const auto& [rank, why] : closed) {
        branches_.on_down(now, rank, why);
    }
    after_branches(now);
}

void Group::leave(const std::string& why) {
    const Failure own{seat_.self, Blame::node, why};
    failures_.add(own);
    for (const Rank rank : branches_.listeners()) {
        commands_.emplace_back(group::Hangup{rank});
    }
    gathers_.clear();
    draw_at_.reset();
    verdict_ = GroupVerdict{.state = VerdictState::failed,
                            .blame = own.blame,
                            .sentence = failures_.sentence(seat_.names),
                            .culprit = seat_.self};
    finished_ = true;
    commands_.emplace_back(group::Settle{*verdict_, {}});
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
        send(parent_, FailedMessage{failures_.named()});
        for (const Rank rank : seat_.drops_failed ? failures_.unnamed() : std::vector<Rank>{}) {
            send(parent_, FailedMessage{{{rank, Blame::node, "failed, as other nodes did"}}});
        }
    }
    if (outcomes_sent_) {
        send(parent_, *outcomes_sent_);
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
    if (epoch_ != seat_.epoch) {
        send(to, epoch_message());
    }
    if (listening_) {
        send(to, *listening_);
    }
    for (const DropMessage& drop : drops_) {
        send(to, drop);
    }
    if (verdict_) {
        send(to, *verdict_);
    }
}

void Group::on_link_down(Instant now, Rank rank, const Error& why) {
    notice_pause(now);
    if (finished_) {
        return;
    }
    if (above_ == Above::up && rank == parent_) {
        above_ = Above::lost;
        parent_until_ = now + (rank == Rank{0} ? times_.rootless_max() : times_.orphan_max());
        return;
    }
    if (doubt_until_) {
        closed_in_doubt_.emplace_back(rank, why.sentence());
        return;
    }
    // From then on all that was sent over the link and may be lost is sent again.
    const bool may_redial = listening_ && why.cause() != 0;
    branches_.on_down(now, rank, why.sentence(), may_redial);
    after_branches(now);
}

/// A link's error is a complete sentence; a branch that fell silent has left none.
std::string Group::said_of(const LostBranch& lost) const {
    if (!lost.why.empty()) {
        return lost.why;
    }
    const std::size_t rank = lost.rank.index();
    const std::string place = rank < seat_.places.size() ? " at " + seat_.places[rank] : "";
    return lost.was_up
               ? "stagecastd" + place +
                     " fell silent during the stage; is it stopped, or is the network down?"
               : "stagecastd does not answer" + place +
                     "; is it running there, and does a firewall block Port?";
}

/// Carries out what the branches ask for: makes connections, and reports the lost ones.
void Group::after_branches(Instant now) {
    for (const LostBranch& lost : branches_.take_lost()) {
        commands_.emplace_back(group::Hangup{lost.rank});
        note(now, {lost.rank, Blame::node, said_of(lost)});
        await_instead(now, lost.rank, seat_.tree.children(lost.rank));
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
    if (doubt_until_ && now >= *doubt_until_) {
        end_doubt(now);
    }
    if (finished_) {
        return;
    }
    if (above_ == Above::up && now >= parent_until_) {
        commands_.emplace_back(group::Hangup{parent_});
        above_ = Above::lost;
        parent_until_ = now + times_.orphan_max();
    }
    if (!verdict_ && above_ == Above::lost && now >= parent_until_) {
        const std::size_t above = seat_.tree.parent(seat_.self).value_or(Rank{0}).index();
        decide_alone(now,
                     "lost the connection to stagecastd on node " + seat_.names.at(above) +
                         "; see its log, and check the network between the nodes");
    }
    if (!verdict_ && draw_at_ && now >= *draw_at_) {
        draw(now);
    }
    if (!verdict_ && now >= own_deadline()) {
        decide_alone(now, "the stage was not done within StageTimeout");
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
    sooner(doubt_until_);
    if (above_ != Above::root && (above_ == Above::up || !verdict_)) {
        sooner(parent_until_);
    }
    if (!verdict_) {
        sooner(own_deadline());
    }
    return first;
}

void Group::request_port(Instant now,
                         std::vector<std::uint16_t> taken,
                         const std::string& why) {
    ask_for_port(
        now,
        {.move = epoch_.draws, .port = 0, .rank = seat_.self, .taken = std::move(taken)},
        why);
}

void Group::ask_for_port(Instant now, PortsMessage asked, const std::string& why) {
    if (verdict_ || asked.move != epoch_.draws || asked.rank.index() >= seat_.tree.size()) {
        return;  // Another port is being drawn already.
    }
    if (epoch_.draws >= kPortDrawsMax || gathers_.count({Collective::outcome, 0}) > 0) {
        fail(now, Failure{asked.rank, Blame::node, why});
    } else if (is_root()) {
        taken_.insert(asked.taken.begin(), asked.taken.end());
        commands_.emplace_back(group::DrawPort{asked.rank, taken_});
    } else {
        asked.taken.resize(std::min(asked.taken.size(), kTakenPortsMax));
        send_above(std::move(asked));
    }
}

}  // namespace stage

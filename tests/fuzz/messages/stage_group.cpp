// Fuzzes a stage on one node: it reaches one verdict and ends, whatever other daemons send.
//
// The input is this node's place and then what happens: words of the tree's other nodes, links
// that come and go, what the plugin and the worker did, time. The group decides, the stage's
// table (lifecycle.h) follows.
#include "stager/daemon/group/group.h"
#include "stager/daemon/stage/lifecycle.h"
#include "stager/daemon/tree/outcome.h"
#include "tests/fuzz/fuzz.h"

#include <array>
#include <set>
#include <utility>

namespace stage {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kNodes = 7;
constexpr Instant kStart{std::chrono::hours{5}};
constexpr Duration kStageTimeout = std::chrono::seconds{60};

GroupSeat seat_of(Rank self, bool drops_failed) {
    GroupSeat seat{.key = {.job_id = 7},
                   .tree = Tree{kNodes, 2},
                   .self = self,
                   .names = {},
                   .places = {},
                   .plan = owned("the plan"),
                   .context_base = 1000,
                   .drops_failed = drops_failed};
    for (std::size_t i = 0; i < kNodes; ++i) {
        seat.names.push_back("n" + std::to_string(i));
        seat.places.push_back("10.0.0." + std::to_string(i) + ":6829");
    }
    return seat;
}

class StageGroup {
  public:
    StageGroup(Bytes input, Rank self, bool drops_failed)
        : reader_{input},
          self_{self},
          group_{seat_of(self, drops_failed), GroupTimes{}, now_, now_ + kStageTimeout} {
        follow();
    }

    /// True if others were believed something.
    bool run() {
        for (int left = kEventsMax; left > 0 && reader_.left() > 0; --left) {
            happen();
            follow();
        }
        for (int turns = 0; group_.deadline(); ++turns) {
            invariant(turns < kTurnsMax, "a group comes to its end");
            turn();
        }
        invariant(group_.is_finished() && group_.verdict(), "a group ends with a verdict");
        invariant(!is_open(state_), "a verdict settles the stage");
        step(StageEvent::end);
        invariant(state_ == StageState::ended, "the end is the end");
        return has_believed_;
    }

  private:
    static constexpr int kEventsMax = 200;
    static constexpr int kTurnsMax = 2000;

    void happen() {
        const std::uint8_t what = reader_.u8();
        const Rank rank{static_cast<Rank::rep>(what / 16U % kNodes)};
        switch (what % 16U) {
            case 0:
            case 1:
            case 2:
            case 3:
                return hear(rank);
            case 4:
                if (asked_for_.erase(rank) > 0) {
                    linked_.insert(rank);
                    group_.on_link_up(now_, rank);
                }
                return;
            case 5:
                return lose(rank);
            case 6:
                return meet_parent(rank);
            case 7:
                now_ += milliseconds{reader_.u8() * 10};
                return group_.on_time(now_);
            case 8:
                return turn();
            case 9:
                return contribute(static_cast<Collective>(1U + what / 16U % 5U));
            case 10:
                return group_.fail(now_, Blame::user, "/x: No space left on device");
            case 11:
                return group_.request_direct(now_, "the wire-up was lost");
            case 12:
                return group_.decide_now(now_);
            case 14:
                return group_.drop(now_, {rank, Blame::node, "nothing was heard of it"});
            default:
                step(static_cast<StageEvent>(what / 16U % (kStageEvents - 2U)));
        }
    }

    void hear(Rank rank) {
        auto message = decode_tree_message(piece_of(reader_));
        if (!message || linked_.count(rank) == 0) {
            return;
        }
        if (!group_.on_message(now_, rank, *std::move(message))) {
            lose(rank);
        } else {
            has_believed_ = true;
        }
    }

    void lose(Rank rank) {
        if (linked_.erase(rank) + asked_for_.erase(rank) > 0) {
            group_.on_link_down(now_, rank, {Blame::node, "connection closed"});
        }
    }

    void meet_parent(Rank rank) {
        const bool is_above = Tree{kNodes, 2}.is_ancestor(rank, self_);
        linked_.insert(rank);
        const bool is_taken = group_.on_parent(now_, rank);
        invariant(is_taken == is_above, "only who is above is a parent");
        if (!is_taken) {
            linked_.erase(rank);
        }
    }

    void contribute(Collective kind) {
        group_.contribute(
            now_, kind, 0, kind == Collective::outcome ? encode(NodeOutcome{}) : owned("own"));
    }

    void turn() {
        now_ = std::max(now_ + milliseconds{1}, group_.deadline().value_or(now_));
        group_.on_time(now_);
        follow();
    }

    void follow() {
        for (group::Command& command : group_.take_commands()) {
            std::visit([this](auto& one) { obey(one); }, command);
        }
        invariant(group_.progress().slowest.index() < kNodes, "the slowest is a node");
        if (!group_.failures().empty()) {
            static_cast<void>(group_.failures().sentence(group_.seat().names));
        }
        const bool is_late =
            now_ >= kStart + kStageTimeout + GroupTimes{}.margin + milliseconds{1};
        invariant(!is_late || !was_late_ || group_.verdict(), "a verdict is there in time");
        was_late_ = is_late;
    }

    void obey(const group::Connect& one) {
        invariant(Tree{kNodes, 2}.is_ancestor(self_, one.to), "only those below are called");
        asked_for_.insert(one.to);
    }
    void obey(const group::Send& one) {
        invariant(one.to.index() < kNodes && one.to != self_, "a message has a target");
        const auto bytes = encode(one.message);
        const auto again = decode_tree_message(bytes);
        invariant(again && *again == one.message, "what is said can be heard");
    }
    void obey(const group::Hangup& one) {
        linked_.erase(one.to);
        asked_for_.erase(one.to);
    }
    void obey(const group::Deliver&) {
        invariant(!has_settled_, "nothing is delivered after the verdict");
    }
    void obey(const group::Settle& one) {
        invariant(!std::exchange(has_settled_, true), "a node settles once");
        invariant(one.verdict.state == VerdictState::failed || self_ != Rank{0} ||
                      group_.failures().empty() || !one.verdict.dropped.empty(),
                  "the root does not forget a failure");
        step(StageEvent::verdict);
    }
    void obey(const group::DrawPort& one) {
        invariant(self_ == Rank{0}, "only the root draws a port");
        invariant(one.rank.index() < kNodes, "a member asks for it");
        if (!one.taken.contains(6840)) {
            group_.begin_at(6840);
        }
    }
    void obey(const group::Drop& one) {
        invariant(one.failure.rank == self_ && self_ != Rank{0} && group_.seat().drops_failed,
                  "only a node below is dropped, where nodes are dropped at all");
    }
    void obey(const group::BeginEpoch& one) {
        const Epoch before = std::exchange(epoch_, one.epoch);
        invariant(one.epoch.cards_follow, "PMIx is not tried again");
        invariant(one.epoch.draws > before.draws || !before.cards_follow,
                  "an epoch is a later one");
    }

    void step(StageEvent event) {
        const StageStep next = next_step(state_, event);
        invariant(state_ != StageState::ended || next.next == StageState::ended,
                  "nothing begins again");
        invariant(is_open(state_) || !is_open(next.next), "what is settled stays settled");
        state_ = next.next;
    }

    ByteReader reader_;
    Rank self_;
    Instant now_ = kStart;
    Group group_;
    std::set<Rank> linked_;
    std::set<Rank> asked_for_;
    StageState state_ = StageState::fresh;
    bool has_believed_ = false;
    bool has_settled_ = false;
    Epoch epoch_;
    bool was_late_ = false;
};

/// An event as happen() reads it.
std::uint8_t event(unsigned what, unsigned rank) {
    return static_cast<std::uint8_t>(what + 16U * rank);
}

void say(ByteWriter& out, unsigned rank, const TreeMessage& message) {
    const auto bytes = encode(message);
    put_piece(out.u8(event(0, rank)), text_of(bytes));
}

TreeMessage outcomes_of(std::uint16_t child) {
    GatheredMessage all{.kind = Collective::outcome, .sequence = 0, .contributions = {}};
    for (const unsigned rank : {child + 0U, child * 2U + 1U, child * 2U + 2U}) {
        all.contributions.push_back(
            {Rank{static_cast<Rank::rep>(rank)}, encode(NodeOutcome{})});
    }
    return all;
}

std::vector<std::byte> root_ok() {
    ByteWriter out;
    out.u8(0).u8(event(13, 0)).u8(event(13, 1)).u8(event(13, 2));
    for (const std::uint16_t child : {std::uint16_t{1}, std::uint16_t{2}}) {
        out.u8(event(4, child));
        say(out, child, PulseMessage{{1, 100, Rank{child}}});
        say(out, child, outcomes_of(child));
    }
    out.u8(event(9, static_cast<unsigned>(Collective::outcome) - 1U));
    say(out, 1, SettledMessage{});
    say(out, 2, SettledMessage{});
    return out.take();
}

std::vector<std::byte> root_failed() {
    ByteWriter out;
    out.u8(0).u8(event(4, 1)).u8(event(4, 2));
    say(out,
        1,
        FailedMessage{{{.rank = Rank{3}, .blame = Blame::user, .sentence = "/x: no"},
                       {.rank = Rank{60000}, .blame = Blame::node, .sentence = "none"}}});
    out.u8(event(8, 0)).u8(event(5, 2)).u8(event(8, 0));
    return out.take();
}

/// All listen, one subtree is done, and the other's parent is lost.
std::vector<std::byte> root_drops() {
    ByteWriter out;
    out.u8(3).u8(event(4, 1)).u8(event(4, 2));
    for (const std::uint16_t child : {std::uint16_t{1}, std::uint16_t{2}}) {
        GatheredMessage all{.kind = Collective::listening, .sequence = 0, .contributions = {}};
        for (const unsigned rank : {child + 0U, child * 2U + 1U, child * 2U + 2U}) {
            all.contributions.push_back({Rank{static_cast<Rank::rep>(rank)}, {}});
        }
        say(out, child, all);
    }
    out.u8(event(9, static_cast<unsigned>(Collective::listening) - 1U));
    say(out, 1, outcomes_of(1));
    out.u8(event(9, static_cast<unsigned>(Collective::outcome) - 1U));
    out.u8(event(14, 6)).u8(event(5, 2)).u8(event(4, 5)).u8(event(4, 6));
    for (const std::uint16_t child : {std::uint16_t{5}, std::uint16_t{6}}) {
        say(out,
            child,
            GatheredMessage{.kind = Collective::outcome,
                            .sequence = 0,
                            .contributions = {{Rank{child}, encode(NodeOutcome{})}}});
    }
    return out.take();
}

/// An inner node that is dropped itself, and one below it.
std::vector<std::byte> inner_dropped() {
    ByteWriter out;
    out.u8(4).u8(event(6, 0)).u8(event(4, 3)).u8(event(4, 4));
    for (const std::uint16_t rank : {std::uint16_t{1}, std::uint16_t{3}}) {
        say(out,
            0,
            DropMessage{{.rank = Rank{rank}, .blame = Blame::node, .sentence = "silent"}});
    }
    out.u8(event(5, 3)).u8(event(9, static_cast<unsigned>(Collective::outcome) - 1U));
    say(out,
        0,
        GroupVerdict{.state = VerdictState::partial,
                     .blame = Blame::node,
                     .sentence = "node n1: silent",
                     .culprit = Rank{1},
                     .dropped = {Rank{1}, Rank{3}, Rank{60000}}});
    return out.take();
}

std::vector<std::byte> inner() {
    ByteWriter out;
    out.u8(1).u8(event(6, 0)).u8(event(4, 3)).u8(event(4, 4)).u8(event(11, 0));
    say(out, 0, DirectMessage{});
    say(out, 3, PortsMessage{.move = 0, .port = 0, .rank = Rank{3}, .taken = {6831}});
    say(out, 0, PortsMessage{.move = 1, .port = 6840, .rank = {}, .taken = {}});
    say(out, 0, ResultMessage{.kind = Collective::group, .sequence = 1, .bytes = {}});
    say(out,
        0,
        GroupVerdict{.state = VerdictState::failed,
                     .blame = Blame::user,
                     .sentence = "node n3: /x: no",
                     .culprit = Rank{60000}});
    say(out, 3, SettledMessage{});
    return out.take();
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (input.empty()) {
        return false;
    }
    const std::array<Rank, 3> places{Rank{0}, Rank{1}, Rank{3}};
    const std::size_t place = std::to_integer<std::size_t>(input.front()) % places.size();
    const bool drops_failed =
        std::to_integer<std::size_t>(input.front()) / places.size() % 2 == 1;
    return StageGroup{input.subspan(1), places.at(place), drops_failed}.run();
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {{"root_ok", root_ok()},
            {"root_failed", root_failed()},
            {"root_drops", root_drops()},
            {"inner", inner()},
            {"inner_dropped", inner_dropped()}};
}

}  // namespace stage

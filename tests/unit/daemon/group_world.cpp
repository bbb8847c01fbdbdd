#include "tests/unit/daemon/group_world.h"

#include "stager/daemon/tree/outcome.h"
#include "transport/base/invariant.h"

#include <utility>

namespace stage {
namespace {

using std::chrono::milliseconds;

Rank rank_of(std::size_t number) {
    return Rank{static_cast<Rank::rep>(number)};
}

}  // namespace

GroupWorld::GroupWorld(std::size_t size, std::size_t width, std::uint64_t seed)
    : tree_{size, width}, prng_{seed}, nodes_(size) {
}

Duration GroupWorld::latency() {
    return milliseconds{1 + prng_.below(20)};
}

GroupSeat GroupWorld::seat(std::size_t rank) const {
    std::vector<std::string> names;
    std::vector<std::string> places;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        names.push_back("n" + std::to_string(i));
        places.push_back("10.0.0." + std::to_string(i) + ":6829");
    }
    return {.key = {.job_id = 7},
            .tree = tree_,
            .self = rank_of(rank),
            .names = std::move(names),
            .places = std::move(places),
            .plan = {std::byte{1}},
            .context_base = 1000,
            .drops_failed = drops_failed_,
            .epoch = nodes_[rank].epoch};
}

void GroupWorld::start(Instant at_time, Duration stage_timeout) {
    at(at_time, [this, stage_timeout] {
        deadline_ = now_ + stage_timeout;
        if (!nodes_[0].dead) {
            nodes_[0].group = std::make_unique<Group>(seat(0), GroupTimes{}, now_, deadline_);
            do_local(0);
            follow(0);
        }
    });
}

void GroupWorld::at(Instant when, std::function<void()> what) {
    events_.emplace(when, std::move(what));
}

void GroupWorld::run(Instant until) {
    for (auto next = events_.begin(); next != events_.end() && next->first <= until;
         next = events_.begin()) {
        const std::function<void()> what = std::move(next->second);
        now_ = std::max(now_, next->first);
        events_.erase(next);
        what();
    }
}

void GroupWorld::say(Collective kind, std::size_t bytes) {
    part_bytes_ = bytes;
    for (Node& node : nodes_) {
        node.epoch.cards_follow = kind == Collective::cards;
    }
}

void GroupWorld::announce(std::size_t rank) {
    nodes_[rank].announced = true;
    do_local(rank);
}

/// A worker's life: fence, listening, then outcome.
void GroupWorld::do_local(std::size_t rank) {
    Node& node = nodes_[rank];
    if (!node.group || !node.announced || node.dead || node.early_failure) {
        return;
    }
    node.early_failure = true;  // Said once.
    if (node.taken.contains(node.epoch.port)) {
        node.group->request_port(now_, {node.taken.begin(), node.taken.end()}, "port is taken");
        follow(rank);
        return;
    }
    std::vector<std::byte> part{static_cast<std::byte>(rank)};
    part.resize(part_bytes_, std::byte{0xee});
    const auto kind = node.epoch.cards_follow ? Collective::cards : Collective::fence;
    node.group->contribute(now_, kind, node.epoch.sequence_of(kind, 0), std::move(part));
    follow(rank);
}

/// Begins anew as a stage does: with a new worker, unless the old one is done.
void GroupWorld::begin_epoch(std::size_t rank, const Epoch& epoch) {
    Node& node = nodes_[rank];
    node.epoch = epoch;
    if (node.outcome_said) {
        node.group->fail(now_, Blame::node, "the wire-up was lost after this node was done");
        node.group->decide_now(now_);
    } else if (std::exchange(node.early_failure, false)) {
        do_local(rank);
    }
}

void GroupWorld::time_is_over(std::size_t rank) {
    nodes_[rank].group->name_awaited(now_, Blame::node, "did not do its part");
    follow(rank);
}

void GroupWorld::take_ports(std::size_t rank, std::set<std::uint16_t> ports) {
    nodes_[rank].taken = std::move(ports);
}

void GroupWorld::draw_port(std::size_t rank, const group::DrawPort& asked) {
    constexpr std::uint16_t kPorts = 6;
    for (std::uint16_t port = 1; port <= kPorts; ++port) {
        if (!asked.taken.contains(port)) {
            nodes_[rank].group->begin_at(port);
            return;
        }
    }
    nodes_[rank].group->fail(now_, Failure{asked.rank, Blame::node, "no port is free"});
}

void GroupWorld::lose_wire_up(std::size_t rank) {
    Node& node = nodes_[rank];
    if (node.group && !node.dead) {
        node.group->request_direct(now_, "the wire-up was lost");
        follow(rank);
    }
}

void GroupWorld::on_delivered(std::size_t rank, const group::Deliver& done) {
    Node& node = nodes_[rank];
    if (done.kind != Collective::listening) {
        node.fence = done.bytes;
        at(now_ + latency() * 10, [this, rank, epoch = node.epoch] { listen(rank, epoch); });
        return;
    }
    node.all_listen = true;
    at(now_ + latency() * 10, [this, rank, epoch = node.epoch] {
        Node& worker = nodes_[rank];
        if (!worker.dead && !worker.outcome_said && !worker.hangs && worker.epoch == epoch) {
            worker.outcome_said = true;
            worker.group->contribute(now_, Collective::outcome, 0, encode(NodeOutcome{}));
            follow(rank);
        }
    });
}

void GroupWorld::listen(std::size_t rank, const Epoch& epoch) {
    Node& node = nodes_[rank];
    if (!node.dead && node.epoch == epoch && std::exchange(node.listened, epoch) != epoch) {
        const Collective kind = Collective::listening;
        node.group->contribute(now_, kind, epoch.sequence_of(kind, 0), {});
        follow(rank);
    }
}

void GroupWorld::fail(std::size_t rank, const std::string& sentence) {
    Node& node = nodes_[rank];
    if (node.group && !node.dead) {
        node.early_failure = true;
        node.group->fail(now_, Blame::user, sentence);
        follow(rank);
    }
}

/// Leaves the group as a stage does.
void GroupWorld::leave(std::size_t rank, const std::string& sentence) {
    Node& node = nodes_[rank];
    if (!node.group || node.dead || node.outcome_said) {
        return;
    }
    listen(rank, node.epoch);
    node.outcome_said = true;
    node.group->contribute(now_,
                           Collective::outcome,
                           0,
                           encode(NodeOutcome{.state = VerdictState::failed,
                                              .blame = Blame::user,
                                              .sentence = sentence,
                                              .statistics = {}}));
    follow(rank);
}

void GroupWorld::drop(std::size_t rank, const std::string& sentence) {
    nodes_[0].group->drop(now_, {rank_of(rank), Blame::node, sentence});
    follow(0);
}

void GroupWorld::kill(std::size_t rank) {
    nodes_[rank].dead = true;
    std::vector<Edge> torn;
    for (const auto& [edge, wire] : links_) {
        if (edge.first == rank || edge.second == rank) {
            torn.push_back(edge);
        }
    }
    for (const Edge& edge : torn) {
        hang_up(rank, edge.first == rank ? edge.second : edge.first);
    }
}

void GroupWorld::reset(std::size_t rank) {
    const std::size_t above = tree_.parent(rank_of(rank))->index();
    const auto edge = edge_between(above, rank);
    if (!edge || nodes_[above].dead || nodes_[rank].dead) {
        return;
    }
    links_.erase(*edge);
    const Error why{Blame::node, "Connection reset by peer", ECONNRESET};
    nodes_[rank].group->on_link_down(now_, rank_of(above), why);
    follow(rank);
    nodes_[above].group->on_link_down(now_, rank_of(rank), why);
    follow(above);
}

void GroupWorld::cut(std::size_t rank) {
    nodes_[rank].silent = true;
}

void GroupWorld::freeze(std::size_t rank, Duration length) {
    nodes_[rank].frozen_until = now_ + length;
}

/// Whether this waits until the node runs again; then it comes to `what` once more.
bool GroupWorld::is_put_off(std::size_t rank, const std::function<void()>& what) {
    if (now_ >= nodes_[rank].frozen_until) {
        return false;
    }
    at(nodes_[rank].frozen_until, what);
    return true;
}

std::optional<GroupWorld::Edge> GroupWorld::edge_between(std::size_t one,
                                                         std::size_t other) const {
    const Edge edge{std::min(one, other), std::max(one, other)};
    return links_.count(edge) > 0 ? std::optional{edge} : std::nullopt;
}

void GroupWorld::connect(std::size_t from, std::size_t to) {
    at(now_ + latency(), [this, from, to] {
        Node& caller = nodes_[from];
        if (caller.dead || nodes_[to].silent || caller.silent) {
            return;
        }
        if (nodes_[to].dead) {
            caller.group->on_link_down(
                now_, rank_of(to), {Blame::node, "Connection refused", ECONNREFUSED});
        } else {
            links_[{from, to}] = {.id = ++next_id_, .busy_until = now_};
            caller.group->on_link_up(now_, rank_of(to));
        }
        follow(from);
    });
}

void GroupWorld::deliver(std::size_t from, std::size_t to, TreeMessage message) {
    const auto edge = edge_between(from, to);
    if (!edge) {
        return;
    }
    Wire& wire = links_[*edge];
    wire.busy_until = std::max(wire.busy_until, now_ + latency());
    const auto bytes = encode(message);
    longest_ = std::max(longest_, bytes.size());
    auto decoded = decode_tree_message(bytes);
    invariant(decoded.ok() && *decoded == message, "what is said is what is heard");
    at(wire.busy_until, [this, from, to, id = wire.id, edge, message = std::move(message)] {
        const auto still = links_.find(*edge);
        if (still != links_.end() && still->second.id == id && !nodes_[to].dead &&
            !nodes_[to].silent && !nodes_[from].silent) {
            on_arrival(from, to, message);
        }
    });
}

void GroupWorld::on_arrival(std::size_t from, std::size_t to, TreeMessage message) {
    if (is_put_off(to, [this, from, to, message] { on_arrival(from, to, message); })) {
        return;
    }
    Node& node = nodes_[to];
    bool trusted = true;
    if (const auto* setup = std::get_if<SetupMessage>(&message)) {
        if (!node.group) {
            const Instant deadline = now_ + milliseconds{setup->remaining_ms};
            node.group = std::make_unique<Group>(seat(to), GroupTimes{}, now_, deadline);
        }
        trusted = node.group->on_parent(now_, setup->from);
        do_local(to);
    } else {
        trusted = node.group && node.group->on_message(now_, rank_of(from), std::move(message));
    }
    if (!trusted) {
        hang_up(to, from);
    }
    follow(to);
}

void GroupWorld::hang_up(std::size_t one, std::size_t other) {
    const auto edge = edge_between(one, other);
    if (!edge) {
        return;
    }
    const Instant last = std::max(links_[*edge].busy_until, now_);
    const std::uint64_t id = links_[*edge].id;
    at(last, [this, edge, id] {
        const auto still = links_.find(*edge);
        if (still != links_.end() && still->second.id == id) {
            links_.erase(still);
        }
    });
    at(last + latency(), [this, one, other] { on_closed(one, other); });
}

void GroupWorld::on_closed(std::size_t by, std::size_t at) {
    Node& left = nodes_[at];
    if (left.group && !left.dead && !left.silent && !nodes_[by].silent &&
        !is_put_off(at, [this, by, at] { on_closed(by, at); })) {
        left.group->on_link_down(now_, rank_of(by), {Blame::node, "connection closed"});
        follow(at);
    }
}

void GroupWorld::follow(std::size_t rank) {
    Node& node = nodes_[rank];
    if (!node.group || node.dead) {
        return;
    }
    for (group::Command& command : node.group->take_commands()) {
        if (auto* connecting = std::get_if<group::Connect>(&command)) {
            connect(rank, connecting->to.index());
        } else if (auto* send = std::get_if<group::Send>(&command)) {
            deliver(rank, send->to.index(), std::move(send->message));
        } else if (auto* hangup = std::get_if<group::Hangup>(&command)) {
            hang_up(rank, hangup->to.index());
        } else if (auto* done = std::get_if<group::Deliver>(&command)) {
            on_delivered(rank, *done);
        } else if (const auto* asked = std::get_if<group::DrawPort>(&command)) {
            draw_port(rank, *asked);
        } else if (const auto* begun = std::get_if<group::BeginEpoch>(&command)) {
            begin_epoch(rank, begun->epoch);
        } else if (const auto* dropped = std::get_if<group::Drop>(&command)) {
            at(now_, [this, rank, why = dropped->failure.sentence] { leave(rank, why); });
        } else if (auto* settle = std::get_if<group::Settle>(&command)) {
            invariant(!node.settled_at, "a node settles once");
            node.settled_at = now_;
            node.outcomes = std::move(settle->outcomes);
        }
    }
    tick(rank);
}

void GroupWorld::tick(std::size_t rank) {
    const auto deadline = nodes_[rank].group->deadline();
    if (!deadline) {
        return;
    }
    at(std::max(*deadline, now_), [this, rank, due = *deadline] { on_tick(rank, due); });
}

void GroupWorld::on_tick(std::size_t rank, Instant due) {
    Node& node = nodes_[rank];
    if (!node.dead && node.group->deadline() == due &&
        !is_put_off(rank, [this, rank, due] { on_tick(rank, due); })) {
        node.group->on_time(now_);
        follow(rank);
    }
}

}  // namespace stage

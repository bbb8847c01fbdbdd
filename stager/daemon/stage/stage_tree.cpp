// How does a stage talk with the other nodes? The part of Stage between its links and its
// group.
#include "pmix/business_card.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/stage/stage.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {

bool Stage::set_up(const SetupMessage& setup,
                   const StagePlan& plan,
                   std::unique_ptr<DrivenLink> link) {
    const std::size_t to = setup.to.index();
    const std::size_t from = setup.from.index();
    const bool names_fit = to < plan.nodes.size() && from < plan.nodes.size() &&
                           plan.nodes[from].name == link->link().peer_name() &&
                           plan.nodes[to].name == link->link().called_name();
    if (!names_fit || (plan_ && plan_->session != plan.session) ||
        (group_ && group_->seat().self != setup.to)) {
        return false;
    }
    const Instant now = services_.loop.now();
    const bool is_new = !group_;
    if (is_new) {
        make_group(plan, setup.to, now + std::chrono::milliseconds{setup.remaining_ms});
    }
    if (!group_->on_parent(now, setup.from)) {
        return false;
    }
    links_.take(setup.from, std::move(link));
    follow_group();
    if (is_new) {
        watch_.stop();  // The root does.
        apply(StageEvent::plan);
    }
    return true;
}

void Stage::on_link_up(Rank rank) {
    group_->on_link_up(services_.loop.now(), rank);
    follow_group();
}

void Stage::on_link_down(Rank rank, const std::string& why) {
    group_->on_link_down(services_.loop.now(), rank, why);
    follow_group();
}

void Stage::on_link_message(Rank rank, TreeMessage message) {
    if (!group_->on_message(services_.loop.now(), rank, std::move(message))) {
        ++services_.counters.messages_refused;
        links_.hang_up(rank);
        group_->on_link_down(services_.loop.now(), rank, "it said what it must not");
    }
    follow_group();
}

void Stage::on_links_gone() {
    tell_change();
}

void Stage::make_group(const StagePlan& plan, Rank self, Instant deadline) {
    plan_ = plan;
    group_deadline_ = deadline;
    times_.planned = services_.loop.now();
    const Config& config = services_.config;
    GroupSeat seat{.key = key_,
                   .tree = Tree{plan.nodes.size(), plan.width},
                   .self = self,
                   .names = {},
                   .places = {},
                   .plan = encode(plan),
                   .context_base = plan.context_base};
    for (const StagePlan::Node& node : plan.nodes) {
        seat.names.push_back(node.name);
        seat.places.push_back(node.address + ":" + std::to_string(config.port));
    }
    GroupTimes times;
    times.branch.connect_max = config.connect_timeout;
    times.branch.silence_max = silence_max(config);
    group_.emplace(std::move(seat), times, services_.loop.now(), deadline);
}

void Stage::follow_group() {
    if (std::exchange(following_, true)) {
        return;  // Commands that a command brings about are next.
    }
    for (auto commands = group_->take_commands(); !commands.empty();
         commands = group_->take_commands()) {
        for (group::Command& command : commands) {
            follow(std::move(command));
        }
    }
    following_ = false;
    group_alarm_.set(group_->deadline());
    if (group_->is_finished()) {
        tell_change();
    }
}

void Stage::follow(group::Command command) {
    if (const auto* connecting = std::get_if<group::Connect>(&command)) {
        const StagePlan::Node& node = plan_->nodes.at(connecting->to.index());
        const auto address = Address::parse(node.address, services_.config.port);
        if (address) {
            links_.connect(connecting->to, node.name, *address);
        } else {
            group_->on_link_down(
                services_.loop.now(), connecting->to, address.error().sentence());
        }
    } else if (const auto* sending = std::get_if<group::Send>(&command)) {
        links_.send(sending->to, sending->message);
    } else if (const auto* hangup = std::get_if<group::Hangup>(&command)) {
        links_.hang_up(hangup->to);
    } else if (auto* result = std::get_if<group::Deliver>(&command)) {
        deliver(std::move(*result));
    } else if (std::holds_alternative<group::Direct>(command)) {
        go_direct();
    } else if (const auto* asked = std::get_if<group::DrawPort>(&command)) {
        draw_port(*asked);
    } else if (const auto* moved = std::get_if<group::Move>(&command)) {
        move(*moved);
    } else if (auto* settling = std::get_if<group::Settle>(&command)) {
        outcomes_ = std::move(settling->outcomes);
        apply(StageEvent::verdict);
    }
}

/// A node that starts later starts so; one that has said its outcome can't say another.
void Stage::go_direct() {
    services_.log.info("a stage's cards go through the daemons", {{"job", key_.job_id}});
    plan_->cards_follow = true;
    if (state_ == StageState::reported) {
        stop_all(Blame::node, "the wire-up was lost on another node after this one was done");
    } else if (run_) {
        run_->go_direct();
    }
}

void Stage::on_port_taken(const std::string& why) {
    services_.ports.hold(services_.config.data_port_range);
    std::vector<std::uint16_t> taken{services_.ports.taken().begin(),
                                     services_.ports.taken().end()};
    // Whatever holds says of them, none of the group's is good.
    for (unsigned flow = 0; flow < plan_->policies.flows; ++flow) {
        const auto port = static_cast<std::uint16_t>(plan_->group_port + flow);
        if (!services_.ports.is_held(port)) {
            taken.push_back(port);
        }
    }
    group_->request_port(services_.loop.now(), std::move(taken), why);
    follow_group();
}

/// At the root.
void Stage::draw_port(const group::DrawPort& asked) {
    const auto port = stage::draw_port(services_, *plan_, asked.taken);
    if (port && *port != plan_->group_port) {
        group_->move_to(*port);
        return;
    }
    const auto& range = services_.config.data_port_range;
    group_->fail(services_.loop.now(),
                 Failure{asked.rank,
                         Blame::node,
                         "no UDP port of DataPortRange (" + std::to_string(range.first) + "-" +
                             std::to_string(range.last) +
                             ") is free on all nodes: other programs have " +
                             std::to_string(asked.taken.size()) +
                             " of them ('ss -lunp' says which); widen DataPortRange in "
                             "stagecast.conf, or move it"});
}

void Stage::move(const group::Move& moved) {
    services_.log.info("a stage's UDP port is another node's program's; it gets another one",
                       {{"job", key_.job_id}, {"port", std::uint64_t{moved.port}}});
    moves_ = moved.move;
    plan_->group_port = moved.port;
    plan_->cards_follow = true;
    if (state_ == StageState::reported) {
        stop_all(Blame::node, "the wire-up began anew after this node was done");
    } else if (run_) {
        run_->move(moved.port);
    }
}

void Stage::deliver(group::Deliver result) {
    if (!run_) {
        return;
    }
    if (result.kind == Collective::listening) {
        if (result.sequence == wire_up()) {
            run_->all_listen();
        }
        return;
    }
    const bool is_direct = result.kind == Collective::cards;
    if (moves_ > 0 && (!is_direct || result.sequence != moves_)) {
        return;  // Of a wire-up that was given up.
    }
    times_.wired = times_.wired.value_or(services_.loop.now());
    ByteReader reader{result.bytes};
    if (result.kind == Collective::fence) {
        run_->fence_result(result.sequence, std::move(result.bytes));
    } else if (result.kind == Collective::group) {
        run_->group_result(result.sequence, reader.u64());
    } else {
        std::vector<std::vector<std::byte>> cards;
        for (Contribution& one : take_contributions(reader, plan_->nodes.size())) {
            cards.push_back(std::move(one.bytes));
        }
        run_->cards(join_cards(cards));
    }
}

}  // namespace stage

#include "stager/daemon/stage/group_driver.h"

#include "pmix/business_card.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/planning/planner.h"
#include "stager/daemon/planning/time_limits.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/tree/outcome.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

Epoch first_epoch(const StagePlan& plan) {
    return {.draws = 0, .port = plan.group_port, .cards_follow = plan.cards_follow};
}

GroupSeat seat_of(const StageKey& key, const StagePlan& plan, Rank self, std::uint16_t port) {
    GroupSeat seat{.key = key,
                   .tree = Tree{plan.nodes.size(), plan.width},
                   .self = self,
                   .names = {},
                   .places = {},
                   .plan = encode(plan),
                   .context_base = plan.context_base,
                   .drops_failed = plan.drops_failed,
                   .epoch = first_epoch(plan)};
    for (const StagePlan::Node& node : plan.nodes) {
        seat.names.push_back(node.name);
        seat.places.push_back(node.address + ":" + std::to_string(port));
    }
    return seat;
}

GroupTimes times_of(const Config& config) {
    GroupTimes times;
    times.branch.connect_max = config.connect_timeout;
    times.branch.silence_max = silence_max(config);
    return times;
}

}  // namespace

GroupDriver::GroupDriver(const Basics& basics,
                         const Resources& resources,
                         const StageKey& key,
                         const StagePlan& plan,
                         Rank self,
                         Instant deadline,
                         Hooks hooks)
    : basics_{basics},
      ports_{resources.ports},
      key_{key},
      plan_{plan},
      deadline_{deadline},
      hooks_{std::move(hooks)},
      links_{basics, resources.dialer, *this},
      group_{seat_of(key, plan, self, basics.config.port),
             times_of(basics.config),
             basics.loop.now(),
             deadline},
      alarm_{basics.loop, [this] { on_time(); }},
      epoch_{first_epoch(plan)} {
}

// ---- what happens

bool GroupDriver::take_parent(Rank from, std::unique_ptr<DrivenLink> link) {
    if (!group_.on_parent(now(), from)) {
        return false;
    }
    links_.take(from, std::move(link));
    follow();
    return true;
}

void GroupDriver::contribute(Collective kind,
                             std::uint32_t sequence,
                             std::vector<std::byte> bytes) {
    group_.contribute(now(), kind, epoch_.sequence_of(kind, sequence), std::move(bytes));
    follow();
}

void GroupDriver::leave(const Failure& failure) {
    contribute(Collective::listening, 0, {});
    const NodeOutcome outcome{
        .state = VerdictState::failed, .blame = failure.blame, .sentence = failure.sentence};
    contribute(Collective::outcome, 0, encode(outcome, plan_.nodes.size()));
}

void GroupDriver::drop(const Failure& failure) {
    group_.drop(now(), failure);
    follow();
}

bool GroupDriver::is_dropped() const {
    const auto& verdict = group_.verdict();
    return verdict && std::ranges::binary_search(verdict->dropped, self());
}

std::vector<std::string> GroupDriver::names_of(const std::vector<Rank>& ranks) const {
    std::vector<std::string> names;
    for (const Rank rank : ranks) {
        if (rank.index() < plan_.nodes.size()) {
            names.push_back(plan_.nodes[rank.index()].name);
        }
    }
    return names;
}

std::vector<std::string> GroupDriver::names_of_dropped() const {
    const auto& verdict = group_.verdict();
    return verdict ? names_of(verdict->dropped) : std::vector<std::string>{};
}

void GroupDriver::fail(Failure failure) {
    group_.fail(now(), std::move(failure));
    follow();
}

void GroupDriver::name_awaited(Blame blame, const std::string& why) {
    group_.name_awaited(now(), blame, why);
    follow();
}

void GroupDriver::request_direct(const std::string& why) {
    group_.request_direct(now(), why);
    follow();
}

void GroupDriver::request_port(const std::string& why) {
    ports_.hold(basics_.config.data_port_range);
    std::vector<std::uint16_t> taken{ports_.taken().begin(), ports_.taken().end()};
    // Whatever holds says of them, none of the group's is good.
    for (unsigned flow = 0; flow < plan_.policies.flows; ++flow) {
        const auto port = static_cast<std::uint16_t>(plan_.group_port + flow);
        if (!ports_.is_held(port)) {
            taken.push_back(port);
        }
    }
    group_.request_port(now(), std::move(taken), why);
    follow();
}

void GroupDriver::stop(Blame blame, const std::string& sentence) {
    group_.fail(now(), blame, sentence);
    group_.decide_now(now());
    follow();
}

void GroupDriver::on_link_up(Rank rank) {
    group_.on_link_up(now(), rank);
    follow();
}

void GroupDriver::on_link_down(Rank rank, const Error& why) {
    group_.on_link_down(now(), rank, why);
    follow();
}

void GroupDriver::on_link_message(Rank rank, TreeMessage message) {
    if (!group_.on_message(now(), rank, std::move(message))) {
        ++basics_.counters.messages_refused;
        links_.hang_up(rank);
        group_.on_link_down(
            now(), rank, {Blame::node, "its stagecastd sent an unexpected message"});
    }
    follow();
}

void GroupDriver::on_time() {
    group_.set_progress(hooks_.progress());
    group_.on_time(now());
    follow();
}

// ---- what is done

void GroupDriver::follow() {
    if (std::exchange(is_following_, true)) {
        return;  // Commands that a command brings about are next.
    }
    for (auto commands = group_.take_commands(); !commands.empty();
         commands = group_.take_commands()) {
        for (group::Command& command : commands) {
            std::visit([this](auto& one) { obey(one); }, command);
        }
    }
    is_following_ = false;
    alarm_.set(group_.deadline());
    if (group_.is_finished()) {
        hooks_.on_change();
    }
}

void GroupDriver::obey(group::Connect& command) {
    const StagePlan::Node& node = plan_.nodes.at(command.to.index());
    const Status begun = links_.connect(command.to, node.name, node.address);
    if (!begun) {
        group_.on_link_down(now(), command.to, begun.error());
    }
}

void GroupDriver::obey(group::Send& command) {
    links_.send(command.to, command.message);
}

void GroupDriver::obey(group::Hangup& command) {
    links_.hang_up(command.to);
}

void GroupDriver::obey(group::Deliver& command) {
    if (command.kind == Collective::cards) {
        ByteReader reader{command.bytes};
        std::vector<std::vector<std::byte>> cards;
        for (Contribution& one : take_contributions(reader, plan_.nodes.size())) {
            cards.push_back(std::move(one.bytes));
        }
        command.bytes = join_cards(cards);
    }
    hooks_.on_command(std::move(command));
}

void GroupDriver::obey(group::Settle& command) {
    outcomes_ = std::move(command.outcomes);
    hooks_.on_command(std::move(command));
}

void GroupDriver::obey(group::Drop& command) {
    hooks_.on_command(std::move(command));
}

/// At the root.
void GroupDriver::obey(group::DrawPort& command) {
    const auto port = draw_port(basics_.config, ports_, plan_, command.taken);
    if (port && *port != plan_.group_port) {
        group_.begin_at(*port);
        return;
    }
    const auto& range = basics_.config.data_port_range;
    group_.fail(now(),
                Failure{command.rank,
                        Blame::node,
                        "no UDP port of DataPortRange (" + std::to_string(range.first) + "-" +
                            std::to_string(range.last) +
                            ") is free on all nodes: other programs have " +
                            std::to_string(command.taken.size()) +
                            " of them ('ss -lunp' says which); widen DataPortRange in "
                            "stagecast.conf, or move it"});
}

void GroupDriver::obey(group::BeginEpoch& command) {
    epoch_ = command.epoch;
    if (epoch_.port == plan_.group_port) {
        basics_.log.info("a stage's cards go through the daemons", {{"job", key_.job_id}});
    } else {
        basics_.log.info(
            "another program uses a UDP port on a node; the stage gets another port",
            {{"job", key_.job_id}, {"port", std::uint64_t{epoch_.port}}});
    }
    plan_.group_port = epoch_.port;
    plan_.cards_follow = epoch_.cards_follow;
    hooks_.on_command(command);
}

}  // namespace stage

#include "stager/daemon/stage/stage_description.h"

#include "stager/config/relay_choice.h"
#include "stager/config/transport_choice.h"
#include "stager/daemon/tree/outcome.h"
#include "stager/messages/stage_traits.h"
#include "stager/spec/amount.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

using nlohmann::json;

/// Nodes that an explanation names.
constexpr std::size_t kSlowNamed = 3;

/// Null where one of the two never came.
json seconds_between(std::optional<Instant> from, std::optional<Instant> to) {
    return from && to ? json(std::chrono::duration<double>{*to - *from}.count()) : json();
}

json head_of(const StageKey& key) {
    json head{{"job", key.job_id}, {"restart", key.restart}};
    head["step"] = key.step_id == kWholeJob ? json() : json(key.step_id);
    head["is_push"] = !traits_of(key).has_job;
    return head;
}

struct NodeShare {
    std::string node;
    NodeStatistics counted;
};

std::vector<NodeShare> shares_of(const StageView& view) {
    std::vector<NodeShare> shares;
    for (const Contribution& one : view.outcomes) {
        const auto outcome = decode_node_outcome(one.bytes);
        if (outcome && one.rank.index() < view.plan->nodes.size()) {
            shares.push_back({.node = view.plan->nodes[one.rank.index()].name,
                              .counted = outcome->statistics.value_or(NodeStatistics{})});
        }
    }
    return shares;
}

/// A worker may have made up what it counted: at most the highest number.
std::uint64_t sum_of(const std::vector<NodeShare>& shares,
                     std::uint64_t NodeStatistics::*count) {
    std::uint64_t sum = 0;
    for (const NodeShare& share : shares) {
        sum += std::min(share.counted.*count, std::numeric_limits<std::uint64_t>::max() - sum);
    }
    return sum;
}

bool is_relayed(const std::vector<NodeShare>& shares) {
    return std::ranges::any_of(
        shares, [](const NodeShare& share) { return share.counted.was_handed_over; });
}

/// Sums and the slowest, of what all nodes reported to the root.
void add_shares(json& report, std::vector<NodeShare> shares) {
    report["relayed"] = is_relayed(shares);
    report["packets_lost"] = sum_of(shares, &NodeStatistics::packets_lost);
    report["packets_repaired"] = sum_of(shares, &NodeStatistics::packets_repaired);
    report["bytes_read"] = sum_of(shares, &NodeStatistics::bytes_read);
    report["bytes_here"] = sum_of(shares, &NodeStatistics::bytes_here);
    std::ranges::sort(shares, std::greater{}, [](const NodeShare& share) {
        return share.counted.microseconds;
    });
    report["slowest"] = json::array();
    for (std::size_t i = 0; i < std::min(kSlowNamed, shares.size()); ++i) {
        report["slowest"].push_back(
            {{"node", shares[i].node},
             {"seconds", static_cast<double>(shares[i].counted.microseconds) / 1e6},
             {"packets_lost", shares[i].counted.packets_lost}});
    }
}

/// Chooses from what the first node's configuration and the nodes' reports say.
void add_choice(json& report, const StageView& view, bool is_relayed, std::string_view fabric) {
    const StagePlan& plan = *view.plan;
    TransportFacts facts{.configured = plan.transport,
                         .has_interface = !plan.relays || !may_relay(plan.transport),
                         .broadcasts = plan.group_address == kBroadcastAddress};
    if (is_relayed) {
        facts.unreached = report["unheard_group"].get<std::vector<std::string>>();
    }
    const TransportChoice choice = choose_transport(facts);
    const bool is_multicast = choice.way == TransportChoice::Way::multicast;
    const bool is_in_part = is_multicast && !report["unheard_group"].empty();
    report["transport"] = to_string(choice.way, facts.broadcasts, fabric);
    report["transport_why"] =
        (is_in_part ? "some nodes do not hear the group and request the files by unicast"
                    : choice.why) +
        (is_multicast ? " (" + plan.group_address + ")" : std::string{});
    report["transport_why_not"] =
        to_string(is_multicast ? TransportChoice::Way::relay : TransportChoice::Way::multicast,
                  facts.broadcasts) +
        ": " + choice.why_not;
    const std::uint64_t bytes = view.progress != nullptr ? view.progress->bytes_total : 0;
    if (!is_multicast && bytes > 0) {
        const auto members = static_cast<std::uint32_t>(plan.nodes.size());
        report["relay"] = choose_relay({.object_bytes = bytes, .members = members}).why;
    }
}

json transport_of(const StageView& view, const std::vector<NodeShare>& shares) {
    json report;
    std::string fabric;
    report["unheard_group"] = json::array();
    for (const NodeShare& share : shares) {
        if (share.counted.was_unreachable) {
            report["unheard_group"].push_back(share.node);
        }
        if (share.node == view.plan->nodes.front().name) {
            report["packet_payload"] = share.counted.packet_payload;
            fabric = share.counted.fabric;
        }
    }
    if (view.plan->nodes.size() == 1) {
        report["transport"] = "none";
        report["transport_why"] = "there is one node: it copies";
    } else {
        add_choice(report, view, is_relayed(shares), fabric);
    }
    return report;
}

std::string phase_of(const StageView& view) {
    constexpr std::array<const char*, 3> kWork{"wire-up", "transfer", "serving"};
    if (view.progress != nullptr && view.state == StageState::running) {
        return kWork.at(static_cast<std::size_t>(view.progress->phase));
    }
    return view.is_queued ? "queued" : std::string{to_string(view.state)};
}

/// What the root knows of all nodes.
void add_group(json& report, const StageView& view) {
    const auto total = report["bytes_total"].get<std::uint64_t>();
    const TreeProgress& all = view.group;
    report["done"] = all.done;
    report["bytes_least"] = std::min<std::uint64_t>(all.bytes_least, total);
    report["slowest"] = view.plan->nodes.at(all.slowest.index()).name;
    if (view.times.wired) {
        const double since =
            std::chrono::duration<double>{view.now - *view.times.wired}.count();
        report["bytes_per_second"] =
            since > 0 ? report["bytes_least"].get<double>() / since : 0.0;
    }
}

json turns_of(const StageTimes& times) {
    return {{"announce", seconds_between(times.announced, times.planned)},
            {"start", seconds_between(times.planned, times.started)},
            {"wire_up", seconds_between(times.started, times.wired)},
            {"transfer", seconds_between(times.wired, times.done)},
            {"verify", seconds_between(times.done, times.settled)},
            {"total", seconds_between(times.announced, times.settled)}};
}

}  // namespace

json transport_of(const StageView& view) {
    return view.plan != nullptr ? transport_of(view, shares_of(view)) : json::object();
}

json status_of(const StageView& view) {
    json report = head_of(view.key);
    report["phase"] = phase_of(view);
    report["seconds"] = seconds_between(view.times.announced, view.now);
    report["nodes"] = view.plan != nullptr ? view.plan->nodes.size() : 0;
    report["bytes_total"] = view.progress != nullptr ? view.progress->bytes_total : 0;
    report["bytes_here"] = view.progress != nullptr ? view.progress->bytes : 0;
    if (view.plan != nullptr) {
        report["root"] = view.plan->nodes.front().name;
        if (view.self == Rank{0}) {
            add_group(report, view);
        }
    }
    return report;
}

std::string progress_sentence(const StageView& view) {
    const json known = status_of(view);
    const auto total = known["bytes_total"].get<std::uint64_t>();
    const std::string after =
        "staging, after " +
        std::to_string(
            std::lround(known["seconds"].is_null() ? 0 : known["seconds"].get<double>())) +
        " s: ";
    if (view.is_queued) {
        return after + "the job's first node stages for other jobs, and this one waits";
    }
    if (total == 0 || !known.contains("bytes_least")) {
        return after + (view.plan == nullptr && !view.gateway.empty()
                            ? "gateway " + view.gateway + " prepares the files"
                            : "the nodes begin");
    }
    const auto least = known["bytes_least"].get<std::uint64_t>();
    const double rate = known.value("bytes_per_second", 0.0);
    return after + amount_text(least) + " of " + amount_text(total) + " are on " +
           (view.plan->nodes.size() == 1
                ? "the node"
                : "all " + count_text(view.plan->nodes.size(), "node")) +
           (rate > 0 ? ", " + rate_text(rate, total - least) : "") + ", slowest " +
           known["slowest"].get<std::string>();
}

json explanation_of(const StageView& view) {
    json report = head_of(view.key);
    const bool has_verdict = view.verdict != nullptr;
    report["nodes"] = view.plan != nullptr ? view.plan->nodes.size() : 0;
    report["bytes"] = view.progress != nullptr ? view.progress->bytes_total : 0;
    report["outcome"] = has_verdict ? std::string{to_string(view.verdict->state)} : "under way";
    const bool is_ok = !has_verdict || view.verdict->state == VerdictState::ok;
    report["why"] = is_ok ? "" : view.verdict->sentence;
    report["seconds"] = turns_of(view.times);
    if (!view.gateway.empty()) {
        report["gateway"] = view.gateway;
    }
    if (view.plan == nullptr) {
        return report;
    }
    report["root"] = view.plan->nodes.front().name;
    report["is_root"] = view.self == Rank{0};
    report["dropped"] = view.dropped;
    const std::vector<NodeShare> shares = shares_of(view);
    report.update(transport_of(view, shares));
    add_shares(report, shares);
    return report;
}

}  // namespace stage

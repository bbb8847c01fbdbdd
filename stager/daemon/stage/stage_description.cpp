#include "stager/daemon/stage/stage_description.h"

#include "stager/config/relay_choice.h"
#include "stager/config/transport_choice.h"
#include "stager/daemon/tree/outcome.h"

#include <algorithm>
#include <array>
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
    head["is_push"] = key.job_id == kPushJob;
    return head;
}

/// A number that a worker counted; its line may say anything.
json counted(const json& statistics, const char* name) {
    const auto found = statistics.is_object() ? statistics.find(name) : statistics.end();
    return found != statistics.end() && found->is_number() ? *found : json(0);
}

struct NodeShare {
    std::string node;
    json statistics;
    double seconds = 0;
};

/// Rounds down a double that a worker may have made up, too: below 0 and not a number are 0.
std::uint64_t whole(double number) {
    constexpr double kMost = 9e18;
    return number > 0 ? static_cast<std::uint64_t>(std::min(number, kMost)) : 0;
}

/// Sums and the slowest, of what all nodes reported to the root.
void add_shares(json& report, std::vector<NodeShare> shares, const std::string& source) {
    double lost = 0;
    double repaired = 0;
    double read = 0;
    double here = 0;
    report["unheard_group"] = json::array();
    report["relayed"] = false;
    for (NodeShare& share : shares) {
        if (share.statistics.is_object() && share.statistics.contains("group_unheard")) {
            report["unheard_group"].push_back(share.node);
        }
        if (share.statistics.is_object() && share.statistics.contains("group_relayed")) {
            report["relayed"] = true;
        }
        if (share.node == source) {
            report["packet_payload"] = counted(share.statistics, "packet_payload");
        }
        lost += counted(share.statistics, "packets_lost").get<double>();
        repaired += counted(share.statistics, "packets_repaired").get<double>();
        read += counted(share.statistics, "bytes_read").get<double>();
        here += counted(share.statistics, "bytes_here").get<double>();
        share.seconds = counted(share.statistics, "seconds").get<double>();
    }
    std::ranges::sort(shares, [](const NodeShare& one, const NodeShare& other) {
        return one.seconds > other.seconds;
    });
    report["packets_lost"] = whole(lost);
    report["packets_repaired"] = whole(repaired);
    report["bytes_read"] = whole(read);  // Of the source, by all together.
    report["bytes_here"] = whole(here);  // That nodes had already.
    report["slowest"] = json::array();
    for (std::size_t i = 0; i < std::min(kSlowNamed, shares.size()); ++i) {
        report["slowest"].push_back(
            {{"node", shares[i].node},
             {"seconds", shares[i].seconds},
             {"packets_lost", counted(shares[i].statistics, "packets_lost")}});
    }
}

/// What the first node's configuration and the nodes' reports say. Needs what add_shares()
/// adds.
void add_transport(json& report, const StagePlan& plan) {
    TransportFacts facts{
        .configured = plan.transport,
        .has_interface = !plan.relays || plan.transport != Transport::automatic,
        .broadcasts = plan.group_address == kBroadcastAddress};
    if (report["relayed"].get<bool>()) {
        facts.unreached = report["unheard_group"].get<std::vector<std::string>>();
    }
    const TransportChoice choice = choose_transport(facts);
    const bool is_multicast = choice.way == TransportChoice::Way::multicast;
    const bool is_in_part = is_multicast && !report["unheard_group"].empty();
    report["transport"] = to_string(choice.way, facts.broadcasts);
    report["transport_why"] =
        (is_in_part ? "some nodes do not hear the group and request the files by unicast"
                    : choice.why) +
        (is_multicast ? " (" + plan.group_address + ")" : std::string{});
    report["transport_why_not"] =
        std::string{to_string(
            is_multicast ? TransportChoice::Way::relay : TransportChoice::Way::multicast,
            facts.broadcasts)} +
        ": " + choice.why_not;
    const auto bytes = report["bytes"].get<std::uint64_t>();
    if (!is_multicast && bytes > 0) {
        const auto members = static_cast<std::uint32_t>(plan.nodes.size());
        report["relay"] = choose_relay({.object_bytes = bytes, .members = members}).why;
    }
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

std::vector<NodeShare> shares_of(const StageView& view) {
    std::vector<NodeShare> shares;
    for (const Contribution& one : view.outcomes) {
        const auto outcome = decode_node_outcome(one.bytes);
        if (outcome && one.rank.index() < view.plan->nodes.size()) {
            shares.push_back({.node = view.plan->nodes[one.rank.index()].name,
                              .statistics = json::parse(outcome->statistics, nullptr, false)});
        }
    }
    return shares;
}

}  // namespace

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

json explanation_of(const StageView& view) {
    json report = head_of(view.key);
    const bool has_verdict = view.verdict != nullptr;
    report["nodes"] = view.plan != nullptr ? view.plan->nodes.size() : 0;
    report["bytes"] = view.progress != nullptr ? view.progress->bytes_total : 0;
    report["outcome"] = has_verdict ? std::string{to_string(view.verdict->state)} : "under way";
    report["why"] = has_verdict ? view.verdict->sentence : "";
    report["seconds"] = turns_of(view.times);
    if (view.plan == nullptr) {
        return report;
    }
    const bool is_alone = view.plan->nodes.size() == 1;
    report["root"] = view.plan->nodes.front().name;
    report["is_root"] = view.self == Rank{0};
    if (is_alone) {
        report["transport"] = "none";
        report["transport_why"] = "there is one node: it copies";
    }
    report["dropped"] = view.dropped;
    add_shares(report, shares_of(view), view.plan->nodes.front().name);
    if (!is_alone) {
        add_transport(report, *view.plan);
    }
    return report;
}

}  // namespace stage

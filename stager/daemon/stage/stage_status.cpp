// How far is a stage, where did its time go? The part of Stage that tells those who ask.
#include "stager/daemon/base/json_text.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/stage/stage.h"
#include "stager/daemon/tree/outcome.h"

#include <algorithm>
#include <array>

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

/// What a worker counted: numbers and one word, whoever made it up.
json counted(const json& statistics, const char* name) {
    const auto found = statistics.is_object() ? statistics.find(name) : statistics.end();
    return found != statistics.end() && found->is_number() ? *found : json(0);
}

struct NodeShare {
    std::string node;
    json statistics;
    double seconds = 0;
};

/// Of a double that a worker may have made up, too: below 0 and not a number are 0.
std::uint64_t whole(double number) {
    constexpr double kMost = 9e18;
    return number > 0 ? static_cast<std::uint64_t>(std::min(number, kMost)) : 0;
}

/// Sums and the slowest, of what all nodes have said to the root.
void add_shares(json& told, std::vector<NodeShare> shares) {
    double lost = 0;
    double repaired = 0;
    double read = 0;
    double here = 0;
    told["left_group"] = json::array();
    told["unheard_group"] = json::array();
    for (NodeShare& share : shares) {
        if (share.statistics.is_object() && share.statistics.contains("group_left")) {
            told["left_group"].push_back(share.node);
        }
        if (share.statistics.is_object() && share.statistics.contains("group_unheard")) {
            told["unheard_group"].push_back(share.node);
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
    told["packets_lost"] = whole(lost);
    told["packets_repaired"] = whole(repaired);
    told["bytes_read"] = whole(read);  // Of the source, by all together.
    told["bytes_here"] = whole(here);  // That nodes had already.
    told["slowest"] = json::array();
    for (std::size_t i = 0; i < std::min(kSlowNamed, shares.size()); ++i) {
        told["slowest"].push_back(
            {{"node", shares[i].node},
             {"seconds", shares[i].seconds},
             {"packets_lost", counted(shares[i].statistics, "packets_lost")}});
    }
}

}  // namespace

std::optional<std::uint32_t> Stage::uid() const {
    return request_ ? std::optional{request_->uid} : std::nullopt;
}

const std::string& Stage::first_node() const {
    static const std::string kUnknown;
    return plan_ ? plan_->nodes.front().name : kUnknown;
}

const Verdict* Stage::unclaimed() const {
    return state_ == StageState::settled && !request_ ? &*verdict_ : nullptr;
}

TreeProgress Stage::own_progress() const {
    TreeProgress own;
    own.slowest = group_->seat().self;
    if (run_) {
        own.bytes_least = run_->progress().bytes;
    }
    const bool lends = plan_->is_root_spared && own.slowest == Rank{0};
    if (lends) {
        own.bytes_least = std::numeric_limits<std::uint64_t>::max();
    } else if (outcome_ && outcome_->state != VerdictState::failed) {
        own.done = 1;
    }
    return own;
}

json Stage::status() const {
    json told = head_of(key_);
    constexpr std::array<const char*, 3> kWork{"wire-up", "transfer", "serving"};
    const bool works = run_ && state_ == StageState::running;
    told["phase"] = works         ? kWork.at(static_cast<std::size_t>(run_->progress().phase))
                    : is_queued() ? "queued"
                                  : std::string{to_string(state_)};
    told["seconds"] = seconds_between(times_.announced, services_.loop.now());
    told["nodes"] = plan_ ? plan_->nodes.size() : 0;
    told["bytes_total"] = run_ ? run_->progress().bytes_total : 0;
    told["bytes_here"] = run_ ? run_->progress().bytes : 0;
    if (!group_) {
        return told;
    }
    told["root"] = plan_->nodes.front().name;
    if (group_->seat().self != Rank{0}) {
        return told;
    }
    const TreeProgress all = group_->progress();
    told["done"] = all.done;
    told["bytes_least"] =
        std::min<std::uint64_t>(all.bytes_least, told["bytes_total"].get<std::uint64_t>());
    told["slowest"] = plan_->nodes.at(all.slowest.index()).name;
    if (times_.wired) {
        const double since =
            std::chrono::duration<double>{services_.loop.now() - *times_.wired}.count();
        told["bytes_per_second"] = since > 0 ? told["bytes_least"].get<double>() / since : 0.0;
    }
    return told;
}

json Stage::explanation() const {
    json told = head_of(key_);
    told["nodes"] = plan_ ? plan_->nodes.size() : 0;
    told["bytes"] = run_ ? run_->progress().bytes_total : 0;
    told["outcome"] = verdict_ ? std::string{to_string(verdict_->state)} : "under way";
    told["why"] = verdict_ ? verdict_->sentence : "";
    told["seconds"] = {{"announce", seconds_between(times_.announced, times_.planned)},
                       {"start", seconds_between(times_.planned, times_.started)},
                       {"wire_up", seconds_between(times_.started, times_.wired)},
                       {"transfer", seconds_between(times_.wired, times_.done)},
                       {"verify", seconds_between(times_.done, times_.settled)},
                       {"total", seconds_between(times_.announced, times_.settled)}};
    if (!plan_) {
        return told;
    }
    told["root"] = plan_->nodes.front().name;
    told["is_root"] = group_->seat().self == Rank{0};
    told["transport"] = is_alone() ? "none" : "udp multicast";
    told["transport_why"] =
        is_alone() ? "there is one node: it copies"
                   : "every node has an interface that Interface= names and joined " +
                         plan_->group_address;
    std::vector<NodeShare> shares;
    for (const Contribution& one : outcomes_) {
        const auto outcome = decode_node_outcome(one.bytes);
        if (outcome && one.rank.index() < plan_->nodes.size()) {
            shares.push_back({.node = plan_->nodes[one.rank.index()].name,
                              .statistics = json::parse(outcome->statistics, nullptr, false)});
        }
    }
    add_shares(told, std::move(shares));
    return told;
}

/// For who asks later.
void Stage::remember() {
    if (!request_) {
        return;
    }
    services_.ended.push_back({key_, request_->uid, json_text(explanation())});
    if (services_.ended.size() > kMaxEnded) {
        services_.ended.pop_front();
    }
}

}  // namespace stage

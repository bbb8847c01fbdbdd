#include "stager/daemon/gateway/leg_push.h"

#include "stager/control/push_key.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/legs/leg_plan.h"
#include "stager/daemon/stage/push_rules.h"
#include "stager/daemon/tree/link_dialer.h"
#include "stager/link/cluster_name.h"
#include "stager/link/link.h"
#include "transport/base/log.h"

#include <utility>

namespace stage {
namespace {

/// So the link times out first, and its error says more.
constexpr Duration kLinkFirst = std::chrono::seconds{3};
/// From the leg's end to the gateway's report of its nodes.
constexpr Duration kReportMax = std::chrono::seconds{30};

/// Whether a gateway's report has what report() reads of it, in the right types.
bool is_report(const nlohmann::json& json) {
    const auto is_number = [&](const char* name) {
        return json.contains(name) && json[name].is_number_unsigned();
    };
    if (!json.is_object() || !is_number("nodes") || !is_number("done") ||
        !is_number("rounds") || !json.contains("failed") || !json["failed"].is_array()) {
        return false;
    }
    return std::ranges::all_of(json["failed"], [](const auto& one) {
        return one.is_object() && one.contains("node") && one["node"].is_string() &&
               one.contains("why") && one["why"].is_string();
    });
}

}  // namespace

LegPush::LegPush(Services& services,
                 PushStages& stages,
                 PushRequest request,
                 std::string cluster,
                 OnDone on_done)
    : basics_{services.basics},
      services_{services},
      stages_{stages},
      request_{std::move(request)},
      cluster_{std::move(cluster)},
      on_done_{std::move(on_done)},
      began_{basics_.loop.now()},
      gateways_{routes_to(basics_.config, cluster_)},
      limit_{
          basics_.loop,
          [this] {
              cancel("not done within --timeout=" + std::to_string(request_.timeout_s) + " s");
          }},
      silence_{basics_.loop, [this] { on_lost("its stagecastd fell silent; see its log"); }},
      report_due_{basics_.loop,
                  [this] { on_lost("its stagecastd did not report the nodes"); }} {
}

void LegPush::begin() {
    if (request_.timeout_s > 0) {
        limit_.set(began_ + std::chrono::seconds{request_.timeout_s});
    }
    own_ = name_in_cluster(basics_.config.cluster_name, own_node_name(services_.links));
    why_ =
        basics_.config.cluster_name.empty()
            ? "ClusterName in this node's stagecast.conf is empty, so no other cluster knows "
              "by what name to accept it"
        : gateways_.empty()
            ? "Routes in this node's stagecast.conf names no gateway of cluster " +
                  printable(cluster_)
        : request_.mode != PushMode::push
            ? "nodes of another cluster can't be compared or checked beforehand; leave them "
              "out with --dry-run and --verify"
            : "";
    if (!why_.empty()) {
        finish();
        return;
    }
    source_look_ = std::make_unique<LocalPreflight>(
        basics_,
        services_.closers,
        PreflightOrder{.specs = request_.specs, .is_source = true},
        [this](const Result<WorkerLook>& look) { on_source(look); });
}

void LegPush::on_source(const Result<WorkerLook>& look) {
    if (ended_) {
        return;
    }
    if (!look) {
        why_ = look.error().sentence();
        finish();
        return;
    }
    source_ = *look;
    ask_next();
}

std::string LegPush::name_of_gateway() const {
    return gateways_.empty() ? "gateway" : "gateway " + gateways_.front().name;
}

// ---- the gateway

void LegPush::ask_next() {
    token_ = random_value<PushToken>();
    asks_digest_ = false;
    const NamedText& route = gateways_.front();
    auto link = services_.dialer.dial(route.name, route.value, [this] { on_change(); });
    if (!link) {
        try_next(link.error().sentence());
        return;
    }
    link_ = std::move(*link);
    services_.dialer.prepare(route.name, route.value);  // The leg's.
    link_->send(encode(TreeMessage{PassageMessage{
        .specs = request_.specs,
        .manifest = source_.manifest,
        .token = token_,
        .nodes = request_.node_list,
        .blocks = source_.blocks,
        .object_bytes = source_.object_bytes,
        .rate = request_.rate,
        .ack = request_.ends_at_gateway ? PassageAck::gateway : PassageAck::nodes}}));
    silence_.set(basics_.loop.now() + basics_.config.connect_timeout + kLinkFirst);
}

void LegPush::on_change() {
    while (link_) {
        const auto frame = link_->link().receive();
        if (!frame) {
            break;
        }
        silence_.set(basics_.loop.now() + basics_.config.connect_timeout + kLinkFirst);
        const auto message = decode_tree_message(*frame);
        if (!message) {
            on_lost(message.error().sentence());
            return;
        }
        on_message(*message);
    }
    if (link_ && link_->link().state() == Link::State::closed) {
        const auto& error = link_->link().error();
        on_lost(error ? error->sentence()
                      : "its stagecastd closed the connection; see its log");
    }
}

void LegPush::on_message(const TreeMessage& message) {
    if (const auto* examined = std::get_if<ExaminedMessage>(&message)) {
        if (leg_) {
            on_lost("it answered twice");
        } else if (!examined->sentence.empty()) {
            try_next(printable(examined->sentence));
        } else {
            begin_leg();
        }
    } else if (std::holds_alternative<DigestMessage>(message)) {
        tell_digest();
    } else if (const auto* report = std::get_if<ReportMessage>(&message)) {
        on_report(nlohmann::json::parse(report->json, nullptr, false));
    }
}

/// Nodes that have the files already need none of them. The source is read once, however often
/// gateways ask.
void LegPush::tell_digest() {
    asks_digest_ = true;
    if (digest_) {
        link_->send(encode(TreeMessage{*digest_}));
    } else if (!is_reading_) {
        is_reading_ = true;
        source_look_ = std::make_unique<LocalPreflight>(
            basics_,
            services_.closers,
            PreflightOrder{.specs = request_.specs, .is_source = true, .compares = true},
            [this](const Result<WorkerLook>& look) {
                digest_ = look ? DigestMessage{look->bytes, look->digest} : DigestMessage{};
                if (link_ && asks_digest_ && !ended_) {
                    link_->send(encode(TreeMessage{*digest_}));
                }
            });
    }
}

void LegPush::on_report(nlohmann::json report) {
    drop_link();
    if (!is_report(report)) {
        on_lost("its report can't be read");
        return;
    }
    const bool is_in_vain = report["done"] == 0;
    their_report_ = std::move(report);
    Stage* const stage = leg();
    if (is_in_vain && stage != nullptr && stage->is_open()) {
        stage->break_off("no node behind " + name_of_gateway() + " can take it any more");
    } else if (!leg_ || verdict_) {
        conclude();
    }
}

/// Leg and report are there. Where no node has the files, another gateway may reach them.
void LegPush::conclude() {
    if ((*their_report_)["done"] == 0 && gateways_.size() > 1 && !is_cancelled_) {
        last_report_ = std::exchange(their_report_, std::nullopt);
        try_next("no node behind it has the files");
    } else {
        finish();
    }
}

/// The leg goes on without that link for as long as it can, and its end names the cause.
void LegPush::on_lost(std::string why) {
    drop_link();
    Stage* const stage = leg();
    const bool is_good = verdict_ && !is_failure(verdict_->state);
    if (their_report_ || (is_good && request_.ends_at_gateway)) {
        return;
    }
    why_ = is_cancelled_ ? why_ : why;
    if (stage != nullptr && stage->is_open()) {
        stage->break_off(name_of_gateway() + ": " + why);  // on_verdict() follows.
    } else if (is_good) {
        why_ = name_of_gateway() + ": " + why + "; nodes have the files, but not known which";
        finish();
    } else {
        try_next(std::move(why));
    }
}

void LegPush::drop_link() {
    silence_.set(std::nullopt);
    report_due_.set(std::nullopt);
    if (link_) {
        services_.dialer.discard(gateways_.front().name, gateways_.front().value);
        // Destroyed later, as this may be its own callback.
        link_->set_on_change([] {});
        basics_.loop.defer([gone = std::shared_ptr<DrivenLink>{std::move(link_)}] {});
        link_.reset();
    }
}

void LegPush::try_next(std::string why) {
    drop_link();
    why = name_of_gateway() + ": " + why;
    basics_.log.warn("a push did not pass a gateway", {{"why", why}});
    gateways_.erase(gateways_.begin());
    leg_.reset();
    verdict_.reset();
    transport_ = nlohmann::json::object();
    if (is_cancelled_ || gateways_.empty()) {
        why_ = is_cancelled_ ? why_ : std::move(why);
        their_report_ = std::exchange(last_report_, std::nullopt);
        finish();
        return;
    }
    why_.clear();
    basics_.loop.defer([this, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired() && !ended_) {
            ask_next();
        }
    });
}

// ---- the leg

Stage* LegPush::leg() const {
    return leg_ ? stages_.find(*leg_) : nullptr;
}

void LegPush::begin_leg() {
    StagePlan plan = plan_of_leg(
        basics_.config,
        services_.ports,
        {.source = {own_, ""}, .target = {gateways_.front().name, gateways_.front().value}},
        request_.specs,
        token_,
        request_.rate);
    leg_ = random_push_key();
    plan.digest = digest_of(request_of_push(*leg_, plan, plan.nodes.front().name));
    stages_.push(*leg_,
                 plan,
                 std::nullopt,
                 [this, alive = std::weak_ptr<bool>{alive_}](const Verdict& verdict) {
                     if (!alive.expired()) {
                         on_verdict(verdict);
                     }
                 });
}

void LegPush::on_verdict(const Verdict& verdict) {
    verdict_ = verdict;
    if (const Stage* stage = leg()) {
        transport_ = stage->transport();
    }
    if (their_report_) {
        conclude();
    } else if (is_cancelled_ || (!is_failure(verdict.state) && request_.ends_at_gateway)) {
        finish();
    } else if (link_) {
        report_due_.set(basics_.loop.now() + kReportMax);  // The report says more.
        why_ = is_failure(verdict.state) ? verdict.sentence : "";
    } else {
        try_next(why_.empty() ? verdict.sentence : why_);
    }
}

// ---- the end

void LegPush::cancel(const std::string& why) {
    if (ended_ || is_cancelled_) {
        return;
    }
    is_cancelled_ = true;
    why_ = why;
    Stage* const stage = leg();
    if (stage != nullptr && stage->is_open()) {
        stage->break_off(why);  // on_verdict() follows.
    } else {
        finish();
    }
}

void LegPush::finish() {
    if (ended_) {
        return;
    }
    ended_ = basics_.loop.now();
    limit_.set(std::nullopt);
    drop_link();
    basics_.log.info("a push to another cluster has ended",
                     {{"cluster", cluster_}, {"gateway", name_of_gateway()}, {"why", why_}});
    basics_.loop.defer([call = std::exchange(on_done_, nullptr)] {
        if (call) {
            call();
        }
    });
}

nlohmann::json LegPush::report() const {
    const auto theirs = their_report_.value_or(nlohmann::json::object());
    const Instant until = ended_.value_or(basics_.loop.now());
    auto failed = nlohmann::json::array();
    for (const auto& one : theirs.value("failed", nlohmann::json::array())) {
        failed.push_back({{"node", cluster_ + ":" + printable(one.value("node", "?"))},
                          {"why", printable(one.value("why", ""))},
                          {"differs", false}});
    }
    const bool is_accepted =
        verdict_ && !is_failure(verdict_->state) && request_.ends_at_gateway && !their_report_;
    nlohmann::json report{{"nodes", theirs.value("nodes", is_accepted ? 0U : 1U)},
                          {"done", theirs.value("done", 0U)},
                          {"unchanged", theirs.value("unchanged", 0U)},
                          {"bytes", source_.bytes},
                          {"rounds", theirs.value("rounds", 0U)},
                          {"seconds", std::chrono::duration<double>{until - began_}.count()},
                          {"why", ""},
                          {"phase",
                           ended_ ? "over"
                           : leg_ ? "sending"
                                  : "asking"}};
    if (ended_ && !their_report_ && !is_accepted) {
        failed.push_back(
            {{"node", cluster_ + ":" + request_.node_list}, {"why", why_}, {"differs", false}});
    }
    if (is_accepted) {
        report["accepted"] = {cluster_ + ":" + request_.node_list};
    }
    report["failed"] = std::move(failed);
    report.update(transport_);
    if (const Stage* stage = ended_ ? nullptr : leg()) {
        report["round"] = stage->status();
    }
    return report;
}

}  // namespace stage

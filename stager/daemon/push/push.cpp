#include "stager/daemon/push/push.h"

#include "stager/control/push_key.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/planning/planner.h"
#include "stager/daemon/stage/push_rules.h"
#include "stager/link/link.h"
#include "stager/slurm/host_list.h"
#include "stager/spec/spec_list.h"
#include "transport/base/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace stage {
namespace {

/// Between two rounds the nodes remove what the first one has begun.
constexpr Duration kPause = std::chrono::seconds{1};

/// The nodes' names. Fails unless the request has one source and one destination, too.
Result<std::vector<std::string>> names_of(const PushRequest& request) {
    TRY(auto names, expand_host_list(request.node_list));
    TRY(const auto specs, parse_serialized(request.specs));
    if (specs.size() != 1) {
        return Error{Blame::user, "a push must have one source and one destination"};
    }
    return names;
}

}  // namespace

std::string own_node_name(LinkPolicy& links) {
    std::array<char, 256> name{};
    if (links.node_name.empty() && ::gethostname(name.data(), name.size() - 1) == 0) {
        const std::string whole{name.data()};
        links.node_name = whole.substr(0, whole.find('.'));
    }
    return links.node_name;
}

Push::Push(Services& services,
           PushStages& stages,
           PushRequest request,
           OnDone on_done,
           std::optional<PassedOn> passed)
    : basics_{services.basics},
      services_{services},
      stages_{stages},
      request_{std::move(request)},
      on_done_{std::move(on_done)},
      passed_{std::move(passed)},
      began_{basics_.loop.now()},
      asker_{basics_.loop, basics_.children},
      preflight_{services.basics, services.dialer},
      limit_{
          basics_.loop,
          [this] {
              cancel("not done within --timeout=" + std::to_string(request_.timeout_s) + " s");
          }},
      pause_{basics_.loop, [this] { begin_round(); }} {
}

// ---- nodes and specs

void Push::begin() {
    if (request_.timeout_s > 0) {
        limit_.set(began_ + std::chrono::seconds{request_.timeout_s});
    }
    own_ = own_node_name(services_.links);
    const auto names = names_of(request_);
    if (!names) {
        why_ = names.error().sentence();
        finish();
        return;
    }
    for (const std::string& name : *names) {
        nodes_.push_back({{.name = name}, {}});
    }
    if (passed_) {
        on_source(passed_->source);
    } else {
        look_at_source(request_.mode == PushMode::compare,
                       [this](const Result<WorkerLook>& look) { on_source(look); });
    }
}

void Push::look_at_source(bool compares, LocalPreflight::OnDone on_done) {
    const PreflightOrder order{.specs = request_.specs,
                               .is_source = true,
                               .compares = compares,
                               .is_limited = request_.mode != PushMode::compare};
    source_look_ =
        std::make_unique<LocalPreflight>(basics_, services_.closers, order, std::move(on_done));
}

void Push::on_source(const Result<WorkerLook>& look) {
    if (phase_ == Phase::over) {
        return;
    }
    if (!look) {
        why_ = look.error().sentence();
        finish();
        return;
    }
    source_ = *look;
    resolve();
}

void Push::resolve() {
    phase_ = Phase::asking;
    const bool is_alone = nodes_.size() == 1 && nodes_.front().name == own_;
    if (is_alone) {
        on_resolved(Error{Blame::node, ""});
        return;
    }
    asker_.ask(ResolveQuestion{.node_list = request_.node_list, .may_miss = true},
               [this](const Result<SlurmAnswer>& answer) { on_resolved(answer); });
}

/// If Slurm does not answer, its earlier answers are used.
void Push::on_resolved(const Result<SlurmAnswer>& answer) {
    if (phase_ != Phase::asking) {
        return;
    }
    const auto* resolved = answer ? std::get_if<std::vector<SlurmNode>>(&*answer) : nullptr;
    for (const SlurmNode& node : resolved != nullptr ? *resolved : std::vector<SlurmNode>{}) {
        Node* known = nodes_.called(node.name);
        if (known != nullptr && !node.address.empty()) {
            known->address = node.address;
            services_.addresses.learn(node.name, node.address);
        }
    }
    for (Node& node : nodes_) {
        if (node.address.empty()) {
            node.address = services_.addresses.of(node.name).value_or("");
        }
        if (node.address.empty() && node.name != own_ && resolved == nullptr) {
            node.fail("Slurm gave no address for the node: " + answer.error().sentence());
        }
    }
    look_here();
    ask_others();
    on_one_more();
}

/// Checks this node's own disk, if it is a target.
void Push::look_here() {
    ++open_looks_;  // Counts on_resolved() itself.
    Node* own = nodes_.called(own_);
    if (own == nullptr) {
        return;
    }
    if (passed_) {
        own->fail(
            "it is the gateway, which keeps no copy of what it passes on; push to it from "
            "within its cluster");
        return;
    }
    const auto objection = objection_to_push(basics_.config, request_.specs);
    if (objection) {
        own->fail(*objection);
        return;
    }
    ++open_looks_;
    own_look_ = std::make_unique<LocalPreflight>(
        basics_,
        services_.closers,
        PreflightOrder{.specs = request_.specs,
                       .is_source = false,
                       .compares = request_.mode == PushMode::compare,
                       .is_limited = false,
                       .manifest = source_.manifest},
        [this](const Result<WorkerLook>& look) {
            on_answer(*nodes_.called(own_),
                      look ? Result<ExaminedMessage>{ExaminedMessage{
                                 .sentence = {}, .bytes = look->bytes, .digest = look->digest}}
                           : look.error());
            on_one_more();
        });
}

void Push::ask_others() {
    std::vector<PushPreflight::Place> places;
    for (const Node& node : nodes_) {
        if (node.name != own_ && node.state == NodeState::waiting) {
            places.push_back({.name = node.name, .address = node.address});
        }
    }
    ++open_looks_;
    preflight_.ask(
        places,
        ExamineMessage{request_.mode, request_.specs, source_.manifest, token_},
        [this, places](std::size_t index, const Result<ExaminedMessage>& answer) {
            on_answer(*nodes_.called(places[index].name), answer);
        },
        [this] { on_one_more(); });
}

void Push::on_answer(Node& node, const Result<ExaminedMessage>& answer) {
    if (phase_ != Phase::asking) {
        return;
    }
    if (!answer) {
        node.fail(answer.error().sentence());
    } else if (!answer->sentence.empty()) {
        node.fail(printable(answer->sentence));
    } else if (request_.mode == PushMode::compare &&
               (answer->digest != source_.digest || answer->bytes != source_.bytes)) {
        node.fail("the content there differs from the source");
        node.differs = true;
    } else if (request_.mode == PushMode::compare) {
        node.state = NodeState::done;
    } else {
        node.state = NodeState::fit;
        node.present = {answer->bytes, answer->digest};
    }
}

/// Where nodes may have the files already, the source is read once to find out.
void Push::on_one_more() {
    if (--open_looks_ > 0 || phase_ != Phase::asking) {
        return;
    }
    awaits_digest_ = nodes_.have_present();
    if (!awaits_digest_) {
        send();
    } else if (passed_) {
        passed_->on_present();
    } else {
        look_at_source(true, [this](const Result<WorkerLook>& look) {
            compare_present(look ? *look : WorkerLook{});  // The transfer will say why not.
        });
    }
}

void Push::compare_present(const WorkerLook& source) {
    if (phase_ != Phase::asking || !std::exchange(awaits_digest_, false)) {
        return;
    }
    nodes_.finish_present(source.bytes, source.digest);
    send();
}

void Push::send() {
    if (request_.mode == PushMode::push && nodes_.count(NodeState::fit) > 0) {
        phase_ = Phase::sending;
        if (passed_) {
            passed_->on_asked();
        } else {
            begin_round();
        }
    } else {
        nodes_.finish_fit();
        finish();
    }
}

// ---- rounds

StagePlan Push::plan_of_round() {
    StagePlan plan = draw_plan(basics_.config, services_.ports, StageRequest{});
    plan.push_specs = request_.specs;
    plan.push_token = token_;
    plan.cards_follow = true;  // A push is root's (pmix/wire_up_kind.h).
    if (request_.rate > 0) {
        plan.rate_max = std::min(plan.rate_max, request_.rate);
    }
    const Node* own = nodes_.called(own_);
    plan.is_root_spared = own == nullptr || own->state != NodeState::fit;
    plan.nodes.push_back({own_, own != nullptr ? own->address : ""});
    for (const Node& node : nodes_) {
        if (node.state == NodeState::fit && node.name != own_) {
            plan.nodes.push_back({node.name, node.address});
        }
    }
    return plan;
}

void Push::go_on() {
    if (phase_ == Phase::sending && !round_) {
        begin_round();
    }
}

void Push::begin_round() {
    nodes_.begin_round();
    StagePlan plan = plan_of_round();
    round_ = random_push_key();
    plan.digest = digest_of(request_of_push(*round_, plan, own_));
    members_.clear();
    for (const StagePlan::Node& node : plan.nodes) {
        members_.push_back(node.name);
    }
    stages_.push(*round_,
                 plan,
                 passed_ ? std::optional{passed_->passage} : std::nullopt,
                 [this, alive = std::weak_ptr<bool>{alive_}](const Verdict& verdict) {
                     if (!alive.expired()) {
                         on_verdict(verdict);
                     }
                 });
}

void Push::on_verdict(const Verdict& verdict) {
    const Stage* stage = stages_.find(*round_);
    const Failures failures = stage != nullptr ? stage->failures() : Failures{};
    if (!is_failure(verdict.state)) {
        if (stage != nullptr) {
            transport_ = stage->transport();
        }
        leave_out(failures);  // Dropped.
        nodes_.finish_fit();
        finish();
        return;
    }
    on_failed_round(verdict, failures);
}

void Push::leave_out(const Failures& failures) {
    const auto put_out = [this](Rank rank, const std::string& why) {
        const std::string name =
            rank.index() < members_.size() ? members_[rank.index()] : std::string{};
        nodes_.leave_out(nodes_.called(name), printable(why));
    };
    for (const Failure& failure : failures.named()) {
        put_out(failure.rank, failure.sentence);
    }
    for (const Rank rank : failures.unnamed()) {
        put_out(rank, "failed together with others; its stagecastd's log says why");
    }
}

/// Leaves the failed nodes out. If the source failed, or no single node is to blame, all fail.
void Push::on_failed_round(const Verdict& verdict, const Failures& failures) {
    const bool is_sources = std::ranges::any_of(
        failures.named(), [](const Failure& failure) { return failure.rank == Rank{0}; });
    const bool is_over =
        why_.has_value() || failures.empty() || is_sources || nodes_.round() >= kMaxPushRounds;
    leave_out(failures);
    if (is_over) {
        nodes_.fail_rest(why_.value_or(verdict.sentence));
        finish();
    } else if (nodes_.may_begin_round()) {
        pause_.set(basics_.loop.now() + kPause);
    } else {
        finish();
    }
}

void Push::cancel(const std::string& why) {
    if (phase_ == Phase::over) {
        return;
    }
    why_ = why;
    Stage* stage = round_ ? stages_.find(*round_) : nullptr;
    if (phase_ == Phase::sending && stage != nullptr && stage->is_open()) {
        stage->break_off(why);  // on_verdict() follows.
        return;
    }
    nodes_.fail_rest(why);
    finish();
}

void Push::finish() {
    phase_ = Phase::over;
    ended_ = basics_.loop.now();
    limit_.set(std::nullopt);
    pause_.set(std::nullopt);
    basics_.log.info("a push has ended",
                     {{"nodes", nodes_.size()},
                      {"done", nodes_.count(NodeState::done)},
                      {"failed", nodes_.count(NodeState::failed)},
                      {"rounds", nodes_.round()},
                      {"why", why_.value_or("")}});
    basics_.loop.defer([call = std::exchange(on_done_, nullptr)] {
        if (call) {
            call();
        }
    });
}

nlohmann::json Push::report() const {
    constexpr std::array<const char*, 4> kPhases{"looking", "asking", "sending", "over"};
    const Instant until = ended_.value_or(basics_.loop.now());
    nlohmann::json report = nodes_.report(source_.bytes,
                                          std::chrono::duration<double>{until - began_}.count(),
                                          why_.value_or(""));
    report.update(transport_);
    report["phase"] = kPhases.at(static_cast<std::size_t>(phase_));
    const Stage* round = round_ && phase_ == Phase::sending ? stages_.find(*round_) : nullptr;
    if (round != nullptr) {
        report["round"] = round->status();
    }
    return report;
}

}  // namespace stage

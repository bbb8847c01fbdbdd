#include "stager/cli/launch/launched_push.h"

#include "pmix/key_credential.h"
#include "stager/cli/launch/launch_look.h"
#include "stager/cli/launch/launch_survey.h"
#include "stager/cli/launch/launch_words.h"
#include "stager/cli/push/push_report.h"
#include "transport/base/address.h"
#include "transport/base/codec.h"
#include "transport/base/hex.h"
#include "transport/os/installation.h"
#include "transport/os/route.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

using State = LaunchNode::State;

/// Time for the other members' output after the source's process has ended.
constexpr Duration kAfterSource = std::chrono::seconds{15};

Result<Config> site_of(const PushOptions& options) {
    auto site = load_config(options.config.empty() ? config_path() : options.config);
    const bool has_none = !site && site.error().cause() == ENOENT && options.config.empty();
    return has_none ? Result<Config>{default_config()} : std::move(site);
}

class LaunchedPush {
  public:
    LaunchedPush(const PushOptions& options, Config site)
        : options_{options}, site_{std::move(site)} {}

    void run();
    [[nodiscard]] nlohmann::json report() const;

  private:
    [[nodiscard]] bool is_srun() const { return options_.launcher == Launcher::srun; }
    [[nodiscard]] std::vector<LaunchNode*> nodes_in(State state);
    [[nodiscard]] std::vector<Ended> carry_out_round(const std::vector<Command>& commands);

    void begin_round();
    [[nodiscard]] std::optional<std::string> order_of_round();
    [[nodiscard]] std::vector<Heard> round_by_addresses();
    [[nodiscard]] std::vector<Command> commands_of_round(const std::string& order,
                                                         const std::string& handed,
                                                         std::vector<std::string> names) const;
    [[nodiscard]] std::vector<Heard> round_by_srun();
    void judge_round(const std::vector<Heard>& heard);
    bool put_out(std::size_t rank, const std::string& why);
    void put_out_silent(const std::vector<Heard>& heard);
    void give_up(const std::string& why);

    const PushOptions& options_;
    Config site_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    LaunchNodes nodes_;
    std::vector<LaunchNode*> members_;  ///< The round's, by rank; null: only a source.
    std::string why_;
    std::uint64_t bytes_ = 0;
    std::size_t source_ = 0;  ///< Its rank in the round.
    bool is_over_ = false;
};

std::vector<LaunchNode*> LaunchedPush::nodes_in(State state) {
    std::vector<LaunchNode*> some;
    for (LaunchNode& node : nodes_) {
        if (node.state == state) {
            some.push_back(&node);
        }
    }
    return some;
}

void LaunchedPush::give_up(const std::string& why) {
    is_over_ = true;
    nodes_.fail_rest(why);
}

void LaunchedPush::run() {
    auto surveyed = survey(options_, site_);
    if (!surveyed) {
        why_ = surveyed.error().sentence();
        return;
    }
    nodes_ = *std::move(surveyed);
    const auto bytes = look_at_nodes(nodes_, options_, site_);
    if (!bytes || has_end_signal()) {
        why_ = bytes ? "broken off" : bytes.error().sentence();
        give_up(why_);
        return;
    }
    if (options_.mode != PushMode::push) {
        bytes_ = *bytes;
        nodes_.finish_fit();
        return;
    }
    while (!is_over_ && nodes_.may_begin_round()) {
        begin_round();
    }
    give_up("too many rounds have failed");
}

/// Empty if no command could be run.
std::vector<Ended> LaunchedPush::carry_out_round(const std::vector<Command>& commands) {
    auto ended = carry_out(commands,
                           {.longest = std::chrono::hours{25},
                            .after_first = is_srun() ? Duration{} : kAfterSource});
    if (!ended || has_end_signal()) {
        why_ = ended ? "broken off" : ended.error().sentence();
        is_over_ = true;
        return {};
    }
    return *std::move(ended);
}

void LaunchedPush::begin_round() {
    nodes_.begin_round();
    const std::vector<Heard> heard = is_srun() ? round_by_srun() : round_by_addresses();
    if (!heard.empty() && !is_over_) {
        judge_round(heard);
    }
    if (is_over_) {
        give_up(why_.empty() ? "ended with the push" : why_);
    }
}

/// Makes the order: the key and the addresses by rank; the source, rank 0, is this host.
std::optional<std::string> LaunchedPush::order_of_round() {
    std::string text = to_hex(draw_card_key()) + '\n';
    const auto other = std::ranges::find_if(
        members_, [](const LaunchNode* node) { return node != nullptr && !node->is_own; });
    const auto own =
        other != members_.end() ? address_towards(*(*other)->address) : parse_ip("127.0.0.1");
    if (!own) {
        give_up("this host has no route to " + (*other)->name);
        return std::nullopt;
    }
    text += to_string(*own) + '\n';
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
        text += to_string(*members_[rank]->address) + '\n';
    }
    return text;
}

std::vector<Heard> LaunchedPush::round_by_addresses() {
    members_.assign(1, nullptr);
    std::vector<std::string> names;
    for (LaunchNode* node : nodes_in(State::fit)) {
        if (node->is_own) {
            members_.front() = node;
        } else {
            members_.push_back(node);
            names.push_back(node->name);
        }
    }
    const auto order = order_of_round();
    if (!order) {
        return {};
    }
    const bool has_input = options_.launcher != Launcher::pdsh;
    auto sealed = has_input ? Result<std::string>{"-"}
                            : seal_for_own_uid(as_bytes(*order), "the group's order");
    if (!sealed) {
        give_up(std::move(sealed)
                    .error()
                    .remedy("pdsh needs munge, ssh and clush do not")
                    .sentence());
        return {};
    }
    std::vector<Ended> ended = carry_out_round(commands_of_round(*order, *sealed, names));
    if (ended.empty()) {
        return {};
    }
    std::vector<Heard> heard{{lines_of(ended.front().out), lines_of(ended.front().err)}};
    ended.erase(ended.begin());
    if (!names.empty()) {
        std::ranges::move(heard_by_node(options_.launcher, ended, names),
                          std::back_inserter(heard));
    }
    return heard;
}

/// The commands for the source (here) and the receivers. `handed`: how they get the order.
std::vector<Command> LaunchedPush::commands_of_round(const std::string& order,
                                                     const std::string& handed,
                                                     std::vector<std::string> names) const {
    std::vector<std::string> words = worker_words(site_, options_);
    const std::string dest = "--dest=" + options_.destination;
    std::vector<std::string> source = words;
    source.insert(source.end(), {"--group=-", "--source=" + options_.source});
    if (members_.front() != nullptr) {
        source.push_back(dest);
    }
    std::vector<Command> commands{{.words = std::move(source), .input = order}};
    if (names.empty()) {
        return commands;
    }
    words.insert(words.end(), {"--group=" + handed, dest});
    const Launch launch = launch_of(site_, std::move(names), shell_line(words));
    for (auto& line : launch_lines(options_.launcher, launch)) {
        commands.push_back({.words = std::move(line), .input = handed == "-" ? order : ""});
    }
    return commands;
}

/// The source is this node if it is one of the nodes, else the first. It remains the source in
/// later rounds, though it then holds the file itself: another member may be unable to read it.
std::vector<Heard> LaunchedPush::round_by_srun() {
    LaunchNode* const source_before = members_.empty() ? nullptr : members_[source_];
    members_.clear();
    std::vector<std::string> names;
    for (LaunchNode& node : nodes_) {
        if (node.state == State::fit || &node == source_before) {
            members_.push_back(&node);
            names.push_back(node.name);
        }
    }
    const std::size_t here = own_place(names);
    const auto before = std::ranges::find(members_, source_before);
    source_ = before != members_.end() ? static_cast<std::size_t>(before - members_.begin())
              : here == names.size()   ? 0
                                       : here;
    std::vector<std::string> words = worker_words(site_, options_);
    words.insert(words.end(),
                 {"--root=" + std::to_string(source_),
                  "--source=" + options_.source,
                  "--dest=" + options_.destination});
    const Launch launch = launch_of(site_, names, saying_node("exec " + shell_line(words)));
    std::vector<Command> commands;
    for (auto& line : launch_lines(options_.launcher, launch)) {
        commands.push_back({.words = std::move(line), .input = {}});
    }
    const std::vector<Ended> ended = carry_out_round(commands);
    return ended.empty() ? std::vector<Heard>{}
                         : heard_by_node(options_.launcher, ended, names);
}

/// Excludes the failed members; all of them if the source failed or no culprit is known.
void LaunchedPush::judge_round(const std::vector<Heard>& heard) {
    std::optional<WorkerDid> failure;
    std::vector<std::pair<std::size_t, std::string>> failed;  // By rank, and why.
    for (std::size_t rank = 0; rank < heard.size(); ++rank) {
        const auto did = worker_did(heard[rank]);
        bytes_ = std::max(bytes_, did ? did->bytes : 0);
        if (did && did->has_it && members_[rank] != nullptr) {
            members_[rank]->state = State::done;
        }
        if (did && did->culprit && !failure) {
            failure = did;
        }
        if (did && did->culprit == rank) {
            failed.emplace_back(rank, did->why);  // The member's own report has precedence.
        }
    }
    if (nodes_.count(State::fit) == 0) {
        return;
    }
    if (!failure) {
        put_out_silent(heard);
        return;
    }
    failed.emplace_back(*failure->culprit, failure->why);
    bool has_one = false;
    for (const auto& [rank, why] : failed) {
        has_one = put_out(rank, why) || has_one;
    }
    if (*failure->culprit == source_ || !has_one) {
        why_ = printable(failure->why);
        is_over_ = true;
    }
}

/// Returns false if the member is no longer waiting for the file and not its source.
bool LaunchedPush::put_out(std::size_t rank, const std::string& why) {
    LaunchNode* node = rank < members_.size() ? members_[rank] : nullptr;
    return rank != source_ && nodes_.leave_out(node, printable(why));
}

/// The wire-up failed: a member with an error other than the source's is not one of those that
/// waited.
void LaunchedPush::put_out_silent(const std::vector<Heard>& heard) {
    const std::string common = complaint(heard[source_], "the source said nothing");
    bool has_one = false;
    for (std::size_t rank = 0; rank < heard.size(); ++rank) {
        const std::string own = complaint(heard[rank], "did not join the others");
        if (rank != source_ && own.find(common) == std::string::npos) {
            has_one = nodes_.leave_out(members_[rank], own) || has_one;
        }
    }
    if (!has_one) {
        why_ = common;
        is_over_ = true;
    }
}

nlohmann::json LaunchedPush::report() const {
    const std::chrono::duration<double> ran = std::chrono::steady_clock::now() - began_;
    nlohmann::json report = nodes_.report(bytes_, ran.count(), why_);
    report["phase"] = "over";
    report["launcher"] = to_string(options_.launcher);
    return report;
}

}  // namespace

Result<nlohmann::json> push_by_launcher(const PushOptions& options) {
    TRY(auto site, site_of(options));
    LaunchedPush push{options, std::move(site)};
    push.run();
    return push.report();
}

}  // namespace stage

#include "stager/cli/launch/launched_push.h"

#include "pmix/key_credential.h"
#include "pmix/launch_channel.h"
#include "stager/cli/launch/card_gathering.h"
#include "stager/cli/launch/launch_look.h"
#include "stager/cli/launch/launch_survey.h"
#include "stager/cli/launch/launch_words.h"
#include "stager/cli/push/push_report.h"
#include "stager/control/message.h"
#include "transport/base/random_value.h"
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
    void begin_round();
    void choose_members();
    [[nodiscard]] std::vector<std::string> names_by_rank() const;
    [[nodiscard]] std::vector<std::string> words_of_round() const;
    [[nodiscard]] std::vector<Command> commands_by_address(
        const std::vector<std::string>& names);
    [[nodiscard]] std::vector<Command> commands_by_srun(
        const std::vector<std::string>& names) const;
    [[nodiscard]] Result<std::string> line_of_key() const;
    [[nodiscard]] std::vector<Ended> carry_out_round(std::vector<Command> commands,
                                                     CardGathering& gathering);
    [[nodiscard]] std::vector<Heard> heard_by_rank(std::vector<Ended> ended,
                                                   std::vector<std::string> names) const;
    void judge_round(const std::vector<Heard>& heard, const CardGathering& gathering);
    bool put_out(std::size_t rank, const std::string& why);
    void put_out_silent(const std::vector<Heard>& heard, const CardGathering& gathering);
    void give_up(const std::string& why);

    const PushOptions& options_;
    Config site_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    LaunchNodes nodes_;
    /// The round's, by rank, the source first; null: only a source.
    std::vector<LaunchNode*> members_;
    std::string why_;
    std::uint64_t bytes_ = 0;
    bool is_over_ = false;
};

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

void LaunchedPush::begin_round() {
    nodes_.begin_round();
    choose_members();
    const std::vector<std::string> names = names_by_rank();
    CardGathering gathering{options_.launcher, names, kCardsWithin * site_.connect_timeout};
    auto ended = carry_out_round(
        is_srun() ? commands_by_srun(names) : commands_by_address(names), gathering);
    if (!ended.empty()) {
        judge_round(heard_by_rank(std::move(ended), names), gathering);
    }
    if (is_over_) {
        give_up(why_.empty() ? "ended with the push" : why_);
    }
}

/// With srun the source is this node if it is one of the nodes, else the first. It remains the
/// source in later rounds, though it then holds the file itself: another member may be unable
/// to read it.
void LaunchedPush::choose_members() {
    LaunchNode* const source_before = members_.empty() ? nullptr : members_.front();
    members_.assign(is_srun() ? 0 : 1, nullptr);
    for (LaunchNode& node : nodes_) {
        const bool is_in = node.state == State::fit || (is_srun() && &node == source_before);
        if (is_in && node.is_own) {
            members_.front() = &node;
        } else if (is_in) {
            members_.push_back(&node);
        }
    }
    if (!is_srun()) {
        return;
    }
    auto source = std::ranges::find(members_, source_before);
    if (source == members_.end()) {
        const std::size_t here = own_place(names_by_rank());
        source = members_.begin() + static_cast<std::ptrdiff_t>(here % members_.size());
    }
    std::rotate(members_.begin(), source, source + 1);
}

/// Without a name: this host's source, which no launcher starts.
std::vector<std::string> LaunchedPush::names_by_rank() const {
    std::vector<std::string> names;
    for (const LaunchNode* node : members_) {
        const bool is_here = !is_srun() && names.empty();
        names.push_back(is_here ? "" : node->name);
    }
    return names;
}

std::vector<std::string> LaunchedPush::words_of_round() const {
    std::vector<std::string> words = worker_words(site_, options_);
    words.push_back("--members=" + std::to_string(members_.size()));
    return words;
}

/// For the source, on this host, and for the receivers. All get an address of this host.
std::vector<Command> LaunchedPush::commands_by_address(const std::vector<std::string>& names) {
    std::vector<std::string> words = words_of_round();
    if (members_.size() > 1) {
        const LaunchNode& other = *members_[1];
        const auto own = address_towards(*other.address);
        if (!own) {
            give_up("this host has no route to " + other.name);
            return {};
        }
        words.push_back("--towards=" + to_string(*own));
    }
    const std::string dest = "--dest=" + options_.destination;
    std::vector<std::string> source = words;
    source.push_back("--source=" + options_.source);
    if (members_.front() != nullptr) {
        source.push_back(dest);
    }
    std::vector<Command> commands{{.words = std::move(source), .input = {}}};
    words.push_back(dest);
    const Launch launch = launch_of(site_, {names.begin() + 1, names.end()}, shell_line(words));
    if (!launch.nodes.empty()) {
        for (auto& line : launch_lines(options_.launcher, launch)) {
            commands.push_back({.words = std::move(line), .input = {}});
        }
    }
    return commands;
}

std::vector<Command> LaunchedPush::commands_by_srun(
    const std::vector<std::string>& names) const {
    std::vector<std::string> words = words_of_round();
    words.push_back("--dest=" + options_.destination);
    const std::string receiver = "exec " + shell_line(words);
    words.push_back("--source=" + options_.source);
    const std::string script = R"([ "$SLURMD_NODENAME" != )" + shell_word(names.front()) +
                               " ] || exec " + shell_line(words) + "; " + receiver;
    return {
        {.words = launch_lines(options_.launcher, launch_of(site_, names, saying_node(script)))
                      .front(),
         .input = {}}};
}

/// Slurm carries a step's input in the clear.
Result<std::string> LaunchedPush::line_of_key() const {
    const auto key = random_value<LaunchKey>();
    if (!is_srun()) {
        return key_line(key);
    }
    auto sealed = seal_key(key);
    return sealed ? Result<std::string>{sealed_key_line(*sealed)}
                  : std::move(sealed).error().remedy(
                        "start munged on this node, or use --launcher=ssh");
}

/// Empty if no command could be run.
std::vector<Ended> LaunchedPush::carry_out_round(std::vector<Command> commands,
                                                 CardGathering& gathering) {
    const auto key = line_of_key();
    if (!key) {
        give_up(key.error().sentence());
        return {};
    }
    for (Command& command : commands) {
        command.input = *key;
    }
    CommandLimits limits{.longest = std::chrono::hours{25}, .after_first = kAfterSource};
    if (members_.size() > 1) {
        limits.last_input = [&](const auto& so_far) { return gathering.look(so_far); };
    }
    auto ended = carry_out(commands, limits);
    if (!ended || has_end_signal()) {
        why_ = ended ? "broken off" : ended.error().sentence();
        is_over_ = true;
        return {};
    }
    return *std::move(ended);
}

std::vector<Heard> LaunchedPush::heard_by_rank(std::vector<Ended> ended,
                                               std::vector<std::string> names) const {
    if (is_srun()) {
        return heard_by_node(options_.launcher, ended, names);
    }
    std::vector<Heard> heard{{lines_of(ended.front().out), lines_of(ended.front().err)}};
    if (ended.size() > 1) {
        ended.erase(ended.begin());
        names.erase(names.begin());
        std::ranges::move(heard_by_node(options_.launcher, ended, names),
                          std::back_inserter(heard));
    }
    return heard;
}

/// Excludes the failed members; all of them if the source failed or no culprit is known.
void LaunchedPush::judge_round(const std::vector<Heard>& heard,
                               const CardGathering& gathering) {
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
        put_out_silent(heard, gathering);
        return;
    }
    failed.emplace_back(*failure->culprit, failure->why);
    bool has_one = false;
    for (const auto& [rank, why] : failed) {
        has_one = put_out(rank, why) || has_one;
    }
    if (*failure->culprit == 0 || !has_one) {
        why_ = printable(failure->why);
        is_over_ = true;
    }
}

/// Returns false if the member is no longer waiting for the file and not its source.
bool LaunchedPush::put_out(std::size_t rank, const std::string& why) {
    LaunchNode* node = rank < members_.size() ? members_[rank] : nullptr;
    return rank != 0 && nodes_.leave_out(node, printable(why));
}

/// The wire-up failed. The members to blame are those whose cards did not come, and those with
/// another error than the source's, which only waited if it has sent its card.
void LaunchedPush::put_out_silent(const std::vector<Heard>& heard,
                                  const CardGathering& gathering) {
    const auto own_word = [&](std::size_t rank, const std::string& otherwise) {
        const std::string& why = gathering.why(rank);
        return complaint(heard[rank], why.empty() ? otherwise : why);
    };
    const std::string common = own_word(0, "the source said nothing");
    bool has_one = false;
    for (std::size_t rank = 1; rank < heard.size() && gathering.why(0).empty(); ++rank) {
        const std::string own = own_word(rank, "did not join the others");
        const bool only_waited = own.find(common) != std::string::npos;
        if (!only_waited || !gathering.why(rank).empty()) {
            const std::string& why = only_waited ? gathering.why(rank) : own;
            has_one = nodes_.leave_out(members_[rank], why) || has_one;
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

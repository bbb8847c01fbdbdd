#include "stager/cli/status.h"

#include "stager/cli/common/array_task.h"
#include "stager/cli/common/command_line.h"
#include "stager/cli/common/daemon_socket.h"
#include "stager/cli/common/job_in_slurm.h"
#include "stager/cli/push/push_progress.h"
#include "stager/config/value.h"
#include "stager/control/client.h"
#include "stager/spec/amount.h"

#include <sysexits.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

using nlohmann::json;

constexpr int kNothingKnown = 2;
constexpr CallTimeouts kShortTimeout{.connect = std::chrono::seconds{5},
                                     .answer = std::chrono::seconds{10}};

int fail(StatusKind kind, int code, const std::string& sentence) {
    static_cast<void>(std::fprintf(stderr,
                                   "stagecast %s: %s\n",
                                   kind == StatusKind::explain ? "explain" : "status",
                                   sentence.c_str()));
    return code;
}

/// "job 42", "job 42.3", "push 7.9".
std::string name_of(const json& stage) {
    if (stage.value("is_push", false)) {
        return "push";
    }
    const json step = stage.value("step", json());
    return "job " + std::to_string(stage.value("job", 0U)) +
           (step.is_number() ? '.' + std::to_string(step.get<std::uint32_t>()) : std::string{});
}

std::string number(double value) {
    std::array<char, 48> text{};
    static_cast<void>(std::snprintf(text.data(), text.size(), "%.1f", value));
    return text.data();
}

std::string seconds_in(const json& seconds, const char* name) {
    const auto found = seconds.is_object() ? seconds.find(name) : seconds.end();
    std::array<char, 48> text{};
    const bool is_known = found != seconds.end() && found->is_number();
    static_cast<void>(std::snprintf(
        text.data(), text.size(), "%.3f s", is_known ? found->get<double>() : 0.0));
    return is_known ? text.data() : "-";
}

/// What all nodes have now; only the first node knows it.
std::string what_was_here(const json& stage) {
    const auto here = stage.value("bytes_here", std::uint64_t{0});
    const auto all = stage.value("bytes", std::uint64_t{0}) * stage.value("nodes", 0U);
    if (here == 0) {
        return {};
    }
    return "  from the node cache, or there already: " +
           (here >= all ? std::string{"all of it"}
                        : amount_text(here) + " of " + amount_text(all) + " on all nodes") +
           '\n';
}

std::string explain_one(const json& stage) {
    std::string text = name_of(stage) + ": " + stage.value("outcome", "?") + ", " +
                       amount_text(stage.value("bytes", std::uint64_t{0})) + " to " +
                       count_text(stage.value("nodes", 0U), "node") + '\n';
    if (const std::string why = stage.value("why", ""); !why.empty()) {
        text += "  why: " + printable(why) + '\n';
    }
    if (const std::string gateway = stage.value("gateway", ""); !gateway.empty()) {
        text += "  from another cluster, by its gateway " + printable(gateway) + '\n';
    }
    text += "  transport: " + stage.value("transport", "-") + ": " +
            stage.value("transport_why", "") + '\n';
    if (const std::string not_by = stage.value("transport_why_not", ""); !not_by.empty()) {
        text += "  and not " + not_by + '\n';
    }
    if (const std::string relay = stage.value("relay", ""); !relay.empty()) {
        text += "  passed on by " + relay + '\n';
    }
    const json seconds = stage.value("seconds", json::object());
    for (const char* name : {"announce", "start", "wire_up", "transfer", "verify", "total"}) {
        text += std::string{"  "} + name + ": " + seconds_in(seconds, name) + '\n';
    }
    if (!stage.value("is_root", true)) {
        return text + "  (ask on node " + stage.value("root", "?") + " for all nodes)\n";
    }
    text += what_was_here(stage);
    text += "  packets lost " + std::to_string(stage.value("packets_lost", 0ULL)) +
            ", repaired " + std::to_string(stage.value("packets_repaired", 0ULL)) + '\n';
    for (const json& slow : stage.value("slowest", json::array())) {
        text += "  slow: " + slow.value("node", "?") + ", " +
                number(slow.value("seconds", 0.0)) + " s, " +
                std::to_string(slow.value("packets_lost", 0ULL)) + " packets lost\n";
    }
    const bool broadcasts = stage.value("transport", "") == "udp broadcast" ||
                            stage.value("transport_why_not", "").starts_with("udp broadcast: ");
    for (const json& node : stage.value("unheard_group", json::array())) {
        text += std::string{"  not reached by "} + (broadcasts ? "broadcast" : "multicast") +
                ": " + (node.is_string() ? node.get<std::string>() : "?") +
                (stage.value("relayed", false)
                     ? "; so all nodes passed the files on by TCP\n"
                     : "; it fetched the files from the others, which takes longer\n");
    }
    return text;
}

struct Options {
    std::string config;
    bool wants_json = false;
    StatusKind kind = StatusKind::running;
    std::string task;  ///< "27_1", whose job id is not known yet.
    StatusRequest request;
};

/// "42", "42.3", "27_1" or "27_1.3".
bool read_job(const std::string& text, Options& options) {
    const std::size_t dot = text.find('.');
    const std::string whole = text.substr(0, dot);
    const bool is_task = is_array_task(whole);
    const auto job = is_task ? std::optional<std::uint64_t>{0} : read_count(whole);
    const auto step = dot == std::string::npos ? std::optional<std::uint64_t>{kWholeJob}
                                               : read_count(text.substr(dot + 1));
    if (!job || !step || *job >= kWholeJob || *step > kWholeJob) {
        return false;
    }
    options.task = is_task ? whole : "";
    options.request.key.job_id = static_cast<std::uint32_t>(*job);
    options.request.key.step_id = static_cast<std::uint32_t>(*step);
    return true;
}

Status read_options(std::span<char* const> words, Options& options) {
    constexpr std::array kOptions{OptionName{"json", 0, false},
                                  OptionName{"config", 'c', true}};
    const auto line = read_command_line(words, kOptions);
    if (!line) {
        return Status{line.error()};
    }
    for (const auto& [name, value] : line->options) {
        options.wants_json = options.wants_json || name == "json";
        options.config = name == "config" ? value : options.config;
    }
    const bool is_optional = options.kind == StatusKind::running;
    if (line->operands.size() > 1 || (line->operands.empty() && !is_optional)) {
        return Error{Blame::user, "give one job, as 42, 42.3 or 27_1"};
    }
    if (!line->operands.empty() && !read_job(line->operands.front(), options)) {
        return Error{Blame::user, printable(line->operands.front()) + " is no job"}.remedy(
            "write it as 42, 42.3 or 27_1");
    }
    return {};
}

int tell(const Options& options, const json& report) {
    const bool explains = options.kind == StatusKind::explain;
    const std::string text = explains ? explain_text(report) : status_text(report);
    if (options.wants_json) {
        static_cast<void>(std::printf("%s\n", report.dump().c_str()));
    } else {
        static_cast<void>(std::fputs(text.c_str(), stdout));
    }
    if (const std::string why = report.value("why", ""); !why.empty()) {
        return fail(options.kind, kNothingKnown, why + "; name one job");
    }
    if (text.empty() && (explains || options.request.key.job_id != kWholeJob)) {
        return fail(
            options.kind,
            kNothingKnown,
            "nothing of that job is known to this node's stagecastd, or it is not yours; "
            "ask on a node of the job");
    }
    if (text.empty() && !options.wants_json) {
        static_cast<void>(std::fputs("nothing is under way on this node\n", stderr));
    }
    return 0;
}

}  // namespace

std::string status_text(const json& report) {
    std::string text;
    for (const json& stage : report.value("stages", json::array())) {
        if (stage.value("is_push", false)) {
            continue;  // Printed below with more details.
        }
        text += name_of(stage) + ": " +
                progress_line({{"phase", stage.value("phase", "?")},
                               {"nodes", stage.value("nodes", 0)},
                               {"round", stage}}) +
                '\n';
    }
    for (const json& push : report.value("pushes", json::array())) {
        text += "push: " + progress_line(push) + '\n';
    }
    return text;
}

std::string explain_text(const json& report) {
    std::string text;
    for (const char* list : {"ended", "stages"}) {
        for (const json& stage : report.value(list, json::array())) {
            text += explain_one(stage);
        }
    }
    return text;
}

namespace {

/// No daemon runs here, as on login nodes: Slurm has what the job's first node reports of a
/// staging that takes long, and how a failed one ended.
int tell_by_slurm(const Options& options, const std::string& no_daemon) {
    const StatusKind kind = options.request.kind;
    const std::uint32_t id = options.request.key.job_id;
    if (kind != StatusKind::running || options.wants_json || id == kWholeJob) {
        return fail(kind,
                    EX_UNAVAILABLE,
                    no_daemon + (id == kWholeJob ? "" : "; ask on a node of the job"));
    }
    const auto job = job_in_slurm(id);
    if (!job) {
        return fail(kind, EX_UNAVAILABLE, no_daemon + "; and " + job.error().sentence());
    }
    const std::string head = "job " + std::to_string(id) + ": " + printable(job->state) +
                             (job->node_list.empty() ? "" : " on " + printable(job->node_list));
    if (job->staging.empty()) {
        return fail(kind,
                    kNothingKnown,
                    head +
                        "; Slurm has no word of its staging, which is reported after 10 s. A "
                        "node of the job knows more");
    }
    static_cast<void>(std::printf("%s: %s\n", head.c_str(), printable(job->staging).c_str()));
    return 0;
}

}  // namespace

int run_status(StatusKind kind, std::span<char* const> words) {
    Options options;
    options.kind = kind;
    if (const Status read = read_options(words, options); !read) {
        return fail(kind, EX_USAGE, read.error().sentence());
    }
    if (!options.task.empty()) {
        const auto job = job_of_task(options.task);
        if (!job) {
            return fail(kind, kNothingKnown, job.error().sentence());
        }
        options.request.key.job_id = static_cast<std::uint32_t>(read_count(*job).value_or(0));
    }
    options.request.kind = kind;
    const auto socket = daemon_socket(options.config);
    if (!socket) {
        return fail(kind, EX_CONFIG, socket.error().sentence());
    }
    const auto answer = ask_daemon(*socket, options.request, kShortTimeout);
    if (!answer) {
        return tell_by_slurm(options, answer.error().sentence());
    }
    const auto* report = std::get_if<Report>(&*answer);
    const json parsed = report != nullptr ? json::parse(report->json, nullptr, false) : json();
    return parsed.is_object() ? tell(options, parsed)
                              : fail(kind, EX_PROTOCOL, "stagecastd gave another answer");
}

}  // namespace stage

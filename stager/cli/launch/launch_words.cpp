#include "stager/cli/launch/launch_words.h"

#include "stager/config/value.h"
#include "stager/control/message.h"
#include "transport/base/text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

namespace stage {
namespace {

/// A push ends when it is done; the limit of a day only prevents a worker from running forever.
constexpr unsigned kLongestSeconds = 86400;
constexpr const char* kNodeWord = "stagecast-node ";
constexpr const char* kWorkerName = "stagecast-worker: ";
/// srun puts a label before each piece of a longer line (MAX_MSG_LEN, later
/// SLURM_IO_MAX_MSG_LEN, of slurmstepd's io.c).
constexpr std::size_t kSrunPieceBytes = 1024;

std::string worker_path(const Config& site) {
    return site.libexec_dir + "/stagecast-worker";
}

std::string timeout_of(const PushOptions& options) {
    return std::to_string(options.timeout_s > 0 ? options.timeout_s : kLongestSeconds);
}

/// Parses the worker's JSON line.
nlohmann::json json_in(const Heard& heard) {
    const auto line = std::ranges::find_if(
        heard.out, [](const std::string& one) { return one.starts_with('{'); });
    return line == heard.out.end() ? nlohmann::json()
                                   : nlohmann::json::parse(*line, nullptr, false);
}

std::string text_in(const nlohmann::json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::uint64_t> count_in(const nlohmann::json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number_unsigned()
               ? std::optional{found->get<std::uint64_t>()}
               : std::nullopt;
}

/// Splits "3: text" into task and text; srun pads the number.
struct TaskLine {
    std::size_t task = 0;
    std::string text;
};

std::optional<TaskLine> task_line(const std::string& line) {
    const std::size_t colon = line.find(": ");
    const std::string label = line.substr(0, colon);
    const std::size_t digits = label.find_first_not_of(' ');
    const bool is_label = colon != std::string::npos && digits != std::string::npos &&
                          label.size() < 9 &&
                          label.find_first_not_of("0123456789", digits) == std::string::npos;
    return is_label ? std::optional{TaskLine{std::strtoul(label.c_str(), nullptr, 10),
                                             line.substr(colon + 2)}}
                    : std::nullopt;
}

}  // namespace

std::string probe_words(const Config& site, const PushOptions& options) {
    const char* const may_write = options.mode == PushMode::compare
                                      ? "true"
                                      : R"([ -w "$d" ] || no "$d: Permission denied")";
    return "w=" + shell_word(worker_path(site)) + "; d=" + shell_word(options.destination) +
           R"(; no() { echo "$1" >&2; exit 1; }; [ -d "$d" ] || d=$(dirname "$d"))"
           R"(; [ -x "$w" ] || no "$w is not there; install stagecast on this node")"
           R"(; [ -d "$d" ] || no "$d: No such file or directory; make it first"; )" +
           may_write + R"(; "$w" --version)";
}

std::vector<std::string> look_words(const Config& site,
                                    const PushOptions& options,
                                    const std::optional<std::string>& manifest) {
    std::vector<std::string> words{
        worker_path(site),
        options.mode == PushMode::compare ? "--look=content" : "--look=room",
        "--timeout=" + timeout_of(options)};
    if (manifest) {
        words.insert(words.end(), {"--manifest=" + *manifest, "--dest=" + options.destination});
    } else {
        words.push_back("--source=" + options.source);
    }
    return words;
}

std::vector<std::string> worker_words(const Config& site, const PushOptions& options) {
    std::vector<std::string> words{
        worker_path(site),
        "--durable=yes",
        "--protection=" + std::string{word_of(site.protection)},
        "--timeout=" + timeout_of(options),
        "--stall-timeout=" + write_seconds(site.stall_timeout),
        // The launcher gives up first, and knows which card has not come.
        "--connect-timeout=" + write_seconds((kCardsWithin + 1) * site.connect_timeout),
        "--ttl=" + std::to_string(site.ttl),
        "--dscp=" + std::to_string(site.dscp),
        "--flows=" + std::to_string(site.policies.flows)};
    if (options.rate > 0) {
        words.push_back("--rate-max=" + write_rate(options.rate / 8));
    }
    const std::string interface =
        options.interface.empty() ? write_interfaces(site.interfaces) : options.interface;
    if (!interface.empty()) {
        words.push_back("--interface=" + interface);
    }
    return words;
}

std::string shell_line(const std::vector<std::string>& words) {
    return joined(words, " ", shell_word);
}

std::string saying_node(const std::string& command) {
    return std::string{"echo \""} + kNodeWord + "$SLURMD_NODENAME\"; " + command;
}

std::map<std::size_t, std::string> nodes_of_tasks(const std::string& output,
                                                  std::map<std::size_t, std::string> known) {
    std::set<std::string> claimed;
    for (const auto& [task, node] : known) {
        claimed.insert(node);
    }
    for (const std::string& line : lines_of(output)) {
        const auto task = task_line(line);
        if (task && task->text.starts_with(kNodeWord) && !known.contains(task->task)) {
            std::string node = task->text.substr(std::string_view{kNodeWord}.size());
            if (claimed.insert(node).second) {
                known.emplace(task->task, std::move(node));
            }
        }
    }
    return known;
}

std::vector<SaidLine> lines_by_task(const std::string& text,
                                    const std::map<std::size_t, std::string>& tasks,
                                    const std::vector<std::string>& nodes) {
    std::vector<SaidLine> said;
    std::map<std::size_t, std::size_t> unfinished;  // Places in `said`, by task.
    for (const std::string& line : lines_of(text)) {
        const auto task = task_line(line);
        const auto node = task ? tasks.find(task->task) : tasks.end();
        const auto place =
            node != tasks.end() ? std::ranges::find(nodes, node->second) : nodes.end();
        if (place == nodes.end()) {
            continue;
        }
        if (const auto begun = unfinished.find(task->task); begun != unfinished.end()) {
            said[begun->second].text += task->text;
        } else {
            unfinished[task->task] = said.size();
            said.push_back({static_cast<std::size_t>(place - nodes.begin()), task->text});
        }
        if (task->text.size() != kSrunPieceBytes) {
            unfinished.erase(task->task);
        }
    }
    return said;
}

std::string_view whole_srun_lines(std::string_view text) {
    text = text.substr(0, text.rfind('\n') + 1);
    std::map<std::size_t, std::size_t> unfinished;  // Where a task's line begins.
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        if (const auto line = task_line(std::string{text.substr(at, end - at)})) {
            unfinished.emplace(line->task, at);
            if (line->text.size() != kSrunPieceBytes) {
                unfinished.erase(line->task);
            }
        }
        at = end + 1;
    }
    std::size_t whole = text.size();
    for (const auto& [task, begin] : unfinished) {
        whole = std::min(whole, begin);
    }
    return text.substr(0, whole);
}

std::vector<Heard> heard_by_node(Launcher launcher,
                                 const std::vector<Ended>& ended,
                                 const std::vector<std::string>& nodes) {
    std::vector<Heard> heard(nodes.size());
    if (launcher == Launcher::ssh) {
        for (std::size_t i = 0; i < nodes.size() && i < ended.size(); ++i) {
            heard[i] = {lines_of(ended[i].out), lines_of(ended[i].err)};
        }
        return heard;
    }
    const std::string& out = ended.front().out;
    const std::string& err = ended.front().err;
    const auto tasks = nodes_of_tasks(out);
    const auto by_node = [&](const std::string& text) {
        return launcher == Launcher::srun ? lines_by_task(text, tasks, nodes)
                                          : lines_by_node(text, nodes);
    };
    for (const SaidLine& line : by_node(out)) {
        heard[line.node].out.push_back(line.text);
    }
    for (const SaidLine& line : by_node(err)) {
        heard[line.node].err.push_back(line.text);
    }
    return heard;
}

std::string why_silent(Launcher launcher, const Ended& ended, Duration longest) {
    constexpr int kSshFailed = 255;
    const std::string name{to_string(launcher)};
    if (ended.code == kNotStarted && !ended.err.empty()) {
        return ended.err;
    }
    if (ended.was_ended) {
        return "did not start the worker by " + name + " within " + write_seconds(longest) +
               " s; do start-up files of the login shell there (.bashrc) take long?";
    }
    if (launcher == Launcher::ssh && ended.code != kSshFailed) {
        return "answers ssh, and its login shell ended without starting the worker; do "
               "start-up files there (.bashrc) end it, or start another program?";
    }
    return "does not answer " + name + "; can it be reached by that from here?";
}

std::optional<WorkerDid> worker_did(const Heard& heard) {
    const nlohmann::json json = json_in(heard);
    if (!json.is_object()) {
        return std::nullopt;
    }
    return WorkerDid{.bytes = count_in(json, "bytes").value_or(0),
                     .has_it = !text_in(json, "digest").empty(),
                     .culprit = count_in(json, "culprit"),
                     .why = text_in(json, "why")};
}

std::optional<WorkerSeen> worker_seen(const Heard& heard) {
    const nlohmann::json json = json_in(heard);
    const auto bytes = json.is_object() ? count_in(json, "bytes") : std::nullopt;
    return bytes ? std::optional{WorkerSeen{.bytes = *bytes,
                                            .digest = text_in(json, "digest"),
                                            .manifest = text_in(json, "manifest")}}
                 : std::nullopt;
}

std::size_t own_place(const std::vector<std::string>& names) {
    std::string own(256, '\0');
    own = ::gethostname(own.data(), own.size() - 1) == 0 ? own.c_str() : "";
    const auto here = std::ranges::find(names, own.substr(0, own.find('.')));
    return static_cast<std::size_t>(here - names.begin());
}

std::string complaint(const Heard& heard, const std::string& otherwise) {
    if (heard.err.empty()) {
        return otherwise;
    }
    const std::string& last = heard.err.back();
    return printable(last.starts_with(kWorkerName)
                         ? last.substr(std::string_view{kWorkerName}.size())
                         : last);
}

}  // namespace stage

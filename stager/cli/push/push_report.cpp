#include "stager/cli/push/push_report.h"

#include "stager/cli/push/folded_list.h"
#include "stager/control/message.h"
#include "stager/spec/amount.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stage {
namespace {

constexpr int kNothingDone = 2;

// Set by the signal handler.
volatile std::sig_atomic_t interrupted = 0;  // NOLINT(*-avoid-non-const-global-variables)

void on_signal(int /*number*/) {
    interrupted = 1;
}

/// "12 of 14 nodes have it"
std::string summary_of(const PushOptions& options, const nlohmann::json& report) {
    const auto nodes = report.value("nodes", 0U);
    const auto unchanged = report.value("unchanged", 0U);
    const std::string has = nodes == 1 ? " has " : " have ";
    const std::string what = options.mode == PushMode::look      ? " could take "
                             : options.mode == PushMode::compare ? has + "the same "
                                                                 : has;
    return std::to_string(report.value("done", 0)) + " of " + count_text(nodes, "node") + what +
           printable(options.destination) + " (" +
           amount_text(report.value("bytes", std::uint64_t{0})) + ", " +
           tenths_text(report.value("seconds", 0.0)) + " s" +
           (unchanged > 0 ? ", " + std::to_string(unchanged) + " unchanged)" : ")");
}

/// One line for all nodes that failed for the same reason: of a thousand nodes a terminal would
/// show the last ones only.
void tell_failed(const nlohmann::json& failed) {
    std::vector<std::string> reasons;
    std::map<std::string, std::vector<std::string>> nodes;
    for (const auto& one : failed) {
        const std::string why = one.value("why", "");
        std::vector<std::string>& named = nodes[why];
        if (named.empty()) {
            reasons.push_back(why);
        }
        named.push_back(one.value("node", "?"));
    }
    for (const std::string& why : reasons) {
        const std::vector<std::string>& named = nodes[why];
        static_cast<void>(std::fprintf(stderr,
                                       "stagecast push: %s %s: %s\n",
                                       named.size() == 1 ? "node" : "nodes",
                                       folded_list(named).c_str(),
                                       why.c_str()));
    }
}

/// A comparison has succeeded also if every node has other content.
int exit_code_of(const nlohmann::json& report) {
    const int done = report.value("done", 0);
    if (!report.value("accepted", nlohmann::json::array()).empty()) {
        return done < report.value("nodes", 0) ? 1 : 0;
    }
    if (done > 0) {
        return done < report.value("nodes", 0) ? 1 : 0;
    }
    const auto failed = report.value("failed", nlohmann::json::array());
    return std::ranges::any_of(failed,
                               [](const auto& one) { return one.value("differs", false); })
               ? 1
               : kNothingDone;
}

}  // namespace

int fail_push(int code, const std::string& sentence) {
    static_cast<void>(std::fprintf(stderr, "stagecast push: %s\n", sentence.c_str()));
    return code;
}

void catch_end_signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        static_cast<void>(::sigaction(number, &action, nullptr));
    }
}

bool has_end_signal() {
    return interrupted != 0;
}

int tell_push(const PushOptions& options, const nlohmann::json& report) {
    const std::string why = report.value("why", "");
    if (options.wants_json) {
        static_cast<void>(std::printf(
            "%s\n",
            report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str()));
    } else {
        tell_failed(report.value("failed", nlohmann::json::array()));
        if (!why.empty()) {
            static_cast<void>(std::fprintf(stderr, "stagecast push: %s\n", why.c_str()));
        }
        for (const auto& one : report.value("accepted", nlohmann::json::array())) {
            static_cast<void>(std::printf("the gateway has it for %s, and goes on by itself\n",
                                          printable(one.get<std::string>()).c_str()));
        }
        if (report.value("nodes", 0U) > 0) {
            static_cast<void>(std::printf("%s\n", summary_of(options, report).c_str()));
        }
    }
    return exit_code_of(report);
}

}  // namespace stage

#include "stager/cli/push_report.h"

#include "stager/control/message.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

constexpr int kNothingDone = 2;

// The only thing that a signal handler may touch.
volatile std::sig_atomic_t interrupted = 0;  // NOLINT(*-avoid-non-const-global-variables)

void on_signal(int /*number*/) {
    interrupted = 1;
}

/// "12 of 14 nodes have it"
std::string summary_of(const PushOptions& options, const nlohmann::json& report) {
    const char* what = options.mode == PushMode::look      ? " could take "
                       : options.mode == PushMode::compare ? " have the same "
                                                           : " have ";
    std::array<char, 96> tail{};
    static_cast<void>(std::snprintf(tail.data(),
                                    tail.size(),
                                    " (%.1f MB, %.1f s)",
                                    report.value("bytes", 0.0) / 1e6,
                                    report.value("seconds", 0.0)));
    return std::to_string(report.value("done", 0)) + " of " +
           std::to_string(report.value("nodes", 0)) + " nodes" + what +
           printable(options.destination) + tail.data();
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

bool was_told_to_end() {
    return interrupted != 0;
}

int tell_push(const PushOptions& options, const nlohmann::json& report) {
    const int done = report.value("done", 0);
    const int nodes = report.value("nodes", 0);
    const std::string why = report.value("why", "");
    if (options.wants_json) {
        static_cast<void>(std::printf(
            "%s\n",
            report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str()));
    } else {
        for (const auto& one : report.value("failed", nlohmann::json::array())) {
            const std::string sentence =
                "node " + one.value("node", "?") + ": " + one.value("why", "");
            static_cast<void>(std::fprintf(stderr, "stagecast push: %s\n", sentence.c_str()));
        }
        if (!why.empty()) {
            static_cast<void>(std::fprintf(stderr, "stagecast push: %s\n", why.c_str()));
        }
        static_cast<void>(std::printf("%s\n", summary_of(options, report).c_str()));
    }
    return done == 0 ? kNothingDone : done < nodes ? 1 : 0;
}

}  // namespace stage

#include "stager/cli/push.h"

#include "stager/cli/daemon_socket.h"
#include "stager/cli/push_progress.h"
#include "stager/control/client.h"
#include "transport/base/invariant.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

constexpr int kNothingDone = 2;
constexpr Duration kConnectPatience = std::chrono::seconds{5};
/// For an answer that has begun to come.
constexpr Duration kReadPatience = std::chrono::seconds{30};
/// After Ctrl-C: for the nodes to clear away what they have begun.
constexpr Duration kEndPatience = std::chrono::seconds{5};
constexpr int kLookMs = 500;

int fail(int code, const std::string& sentence) {
    static_cast<void>(std::fprintf(stderr, "stagecast push: %s\n", sentence.c_str()));
    return code;
}

// The only thing that a signal handler may touch.
volatile std::sig_atomic_t interrupted = 0;  // NOLINT(*-avoid-non-const-global-variables)

void on_signal(int /*number*/) {
    interrupted = 1;
}

void catch_signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        static_cast<void>(::sigaction(number, &action, nullptr));
    }
}

StageKey random_id() {
    StageKey id{.job_id = kPushJob, .step_id = 0, .restart = 0};
    std::array<std::uint32_t, 2> draw{};
    const auto count = ::getrandom(draw.data(), sizeof draw, 0);
    invariant(count == sizeof draw, "the kernel gives random bytes");
    id.step_id = draw[0] & 0x7fffffffU;
    id.restart = draw[1] & 0x7fffffffU;
    return id;
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

int tell(const PushOptions& options, const nlohmann::json& report) {
    const int done = report.value("done", 0);
    const int nodes = report.value("nodes", 0);
    const std::string why = report.value("why", "");
    if (options.wants_json) {
        static_cast<void>(std::printf("%s\n", report.dump().c_str()));
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

int tell(const PushOptions& options, const Result<Answer>& answer) {
    if (!answer) {
        return fail(EX_UNAVAILABLE, answer.error().sentence());
    }
    if (const auto* refused = std::get_if<Refused>(&*answer)) {
        return fail(kNothingDone, refused->sentence);
    }
    const auto* report = std::get_if<Report>(&*answer);
    const auto json = report != nullptr ? nlohmann::json::parse(report->json, nullptr, false)
                                        : nlohmann::json();
    return json.is_object()
               ? tell(options, json)
               : fail(EX_PROTOCOL, "stagecastd gave an answer to another question");
}

/// END ends it like a hang-up, and its answer comes when this node has cleared away.
int interrupt(const Call& call, const PushOptions& options) {
    static_cast<void>(::shutdown(call.fd(), SHUT_WR));
    return tell(options, call.answer(kEndPatience));
}

int wait(const Call& call, const PushOptions& options, PushProgress progress) {
    for (;;) {
        pollfd one{.fd = call.fd(), .events = POLLIN, .revents = 0};
        const int ready = ::poll(&one, 1, kLookMs);
        if (interrupted != 0) {
            progress.clear();
            return interrupt(call, options);
        }
        if (ready > 0) {
            progress.clear();
            return tell(options, call.answer(kReadPatience));
        }
        progress.show();
    }
}

}  // namespace

int run_push(const PushOptions& options) {
    if (::geteuid() != 0) {
        return fail(EX_NOPERM, "only root may push; a user's job has --stage-file");
    }
    const auto specs = specs_of(options);
    if (!specs) {
        return fail(EX_USAGE, specs.error().sentence());
    }
    const auto socket = daemon_socket(options.config);
    if (!socket) {
        return fail(EX_CONFIG, socket.error().sentence());
    }
    catch_signals();
    PushRequest request{.id = random_id(),
                        .mode = options.mode,
                        .rate = options.rate,
                        .timeout_s = options.timeout_s,
                        .node_list = options.node_list,
                        .specs = *specs};
    if (!fits(request)) {
        return fail(EX_USAGE, "the list of nodes or a path is too long");
    }
    const auto call = Call::begin(*socket, request, kConnectPatience);
    return call ? wait(*call, options, PushProgress{*socket, request.id, options.wants_json})
                : fail(EX_UNAVAILABLE, call.error().sentence());
}

}  // namespace stage

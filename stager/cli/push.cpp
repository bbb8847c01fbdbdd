#include "stager/cli/push.h"

#include "stager/cli/common/daemon_socket.h"
#include "stager/cli/launch/launched_push.h"
#include "stager/cli/push/push_progress.h"
#include "stager/cli/push/push_report.h"
#include "stager/control/client.h"
#include "stager/control/push_key.h"

#include <poll.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace stage {
namespace {

constexpr int kNothingDone = 2;
constexpr Duration kConnectTimeout = std::chrono::seconds{5};
/// Time limit for an answer that has begun to arrive.
constexpr Duration kReadTimeout = std::chrono::seconds{30};
/// Time after Ctrl-C for the nodes to clean up.
constexpr Duration kEndTimeout = std::chrono::seconds{5};
constexpr int kLookMs = 500;

int tell(const PushOptions& options, const Result<Answer>& answer) {
    if (!answer) {
        return fail_push(EX_UNAVAILABLE, answer.error().sentence());
    }
    if (const auto* refused = std::get_if<Refused>(&*answer)) {
        return fail_push(kNothingDone, refused->sentence);
    }
    const auto* report = std::get_if<Report>(&*answer);
    const auto json = report != nullptr ? nlohmann::json::parse(report->json, nullptr, false)
                                        : nlohmann::json();
    return json.is_object()
               ? tell_push(options, json)
               : fail_push(EX_PROTOCOL, "stagecastd's answer does not fit the request");
}

/// END ends the push like a closed connection, and is answered after this node's clean-up.
int interrupt(const Call& call, const PushOptions& options) {
    static_cast<void>(::shutdown(call.fd(), SHUT_WR));
    return tell(options, call.answer(kEndTimeout));
}

int wait(const Call& call, const PushOptions& options, PushProgress progress) {
    for (;;) {
        pollfd one{.fd = call.fd(), .events = POLLIN, .revents = 0};
        const int ready = ::poll(&one, 1, kLookMs);
        if (has_end_signal()) {
            progress.clear();
            return interrupt(call, options);
        }
        if (ready > 0) {
            progress.clear();
            return tell(options, call.answer(kReadTimeout));
        }
        progress.show();
    }
}

}  // namespace

int run_push(const PushOptions& options) {
    if (options.launcher != Launcher::none) {
        catch_end_signals();
        const auto report = push_by_launcher(options);
        return report ? tell_push(options, *report)
                      : fail_push(EX_CONFIG, report.error().sentence());
    }
    if (::geteuid() != 0) {
        return fail_push(EX_NOPERM,
                         "only root may push by the daemons; a user's job has --stage-file, "
                         "and --launcher=ssh "
                         "needs no root");
    }
    const auto specs = specs_of(options);
    if (!specs) {
        return fail_push(EX_USAGE, specs.error().sentence());
    }
    const auto socket = daemon_socket(options.config);
    if (!socket) {
        return fail_push(EX_CONFIG, socket.error().sentence());
    }
    catch_end_signals();
    PushRequest request{.id = random_push_key(),
                        .mode = options.mode,
                        .rate = options.rate,
                        .timeout_s = options.timeout_s,
                        .node_list = options.node_list,
                        .specs = *specs};
    if (!fits(request)) {
        return fail_push(EX_USAGE, "the list of nodes or a path is too long");
    }
    const auto call = Call::begin(*socket, request, kConnectTimeout);
    return call ? wait(*call, options, PushProgress{*socket, request.id, options.wants_json})
                : fail_push(EX_UNAVAILABLE, call.error().sentence());
}

}  // namespace stage

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

PushEnd end_of(const Result<Answer>& answer) {
    if (!answer) {
        return {.code = EX_UNAVAILABLE, .why = answer.error().sentence(), .report = {}};
    }
    if (const auto* refused = std::get_if<Refused>(&*answer)) {
        return {.code = kNothingDone, .why = refused->sentence, .report = {}};
    }
    const auto* report = std::get_if<Report>(&*answer);
    auto json = report != nullptr ? nlohmann::json::parse(report->json, nullptr, false)
                                  : nlohmann::json();
    if (!json.is_object()) {
        return {.code = EX_PROTOCOL,
                .why = "stagecastd's answer does not fit the request",
                .report = {}};
    }
    return {.code = 0, .why = {}, .report = std::move(json)};
}

/// END ends the push like a closed connection, and is answered after this node's clean-up.
PushEnd interrupt(const Call& call) {
    static_cast<void>(::shutdown(call.fd(), SHUT_WR));
    return end_of(call.answer(kEndTimeout));
}

PushEnd wait(const Call& call, PushProgress progress) {
    for (;;) {
        pollfd one{.fd = call.fd(), .events = POLLIN, .revents = 0};
        const int ready = ::poll(&one, 1, kLookMs);
        if (has_end_signal()) {
            progress.clear();
            return interrupt(call);
        }
        if (ready > 0) {
            progress.clear();
            return end_of(call.answer(kReadTimeout));
        }
        progress.show();
    }
}

}  // namespace

PushEnd carry_out_push(const std::string& socket, const PushRequest& request, bool is_quiet) {
    catch_end_signals();
    const auto call = Call::begin(socket, request, kConnectTimeout);
    return call ? wait(*call, PushProgress{socket, request.id, is_quiet})
                : PushEnd{.code = EX_UNAVAILABLE, .why = call.error().sentence(), .report = {}};
}

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
    const PushRequest request{.id = random_push_key(),
                              .mode = options.mode,
                              .rate = options.rate,
                              .timeout_s = options.timeout_s,
                              .node_list = options.node_list,
                              .specs = *specs,
                              .ends_at_gateway = options.ends_at_gateway};
    if (!fits(request)) {
        return fail_push(EX_USAGE, "the list of nodes or a path is too long");
    }
    const PushEnd end = carry_out_push(*socket, request, options.wants_json);
    return end.code == 0 ? tell_push(options, end.report) : fail_push(end.code, end.why);
}

}  // namespace stage

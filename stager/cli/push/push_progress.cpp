#include "stager/cli/push/push_progress.h"

#include "stager/control/client.h"
#include "stager/spec/amount.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

constexpr CallTimeouts kShortTimeout{.connect = std::chrono::seconds{1},
                                     .answer = std::chrono::seconds{1}};
/// Interval of lines without a terminal.
constexpr std::chrono::seconds kLineEvery{10};

/// The progress of the whole group, which only the stage's first node knows.
std::string group_part(const nlohmann::json& round, std::uint64_t least, std::uint64_t total) {
    const double rate = round.value("bytes_per_second", 0.0);
    return (rate > 0 ? ", " + rate_text(rate, total - least) : "") + ", " +
           std::to_string(round.value("done", 0)) + " of " +
           count_text(round.value("nodes", 0U), "node") + " done, slowest " +
           round.value("slowest", "?");
}

std::string own_part(const nlohmann::json& round) {
    return " on this node; node " + round.value("root", "?") + " reports all " +
           count_text(round.value("nodes", 0U), "node");
}

}  // namespace

std::string progress_line(const nlohmann::json& push) {
    const std::string phase = push.value("phase", "?") + ": ";
    const auto round = push.value("round", nlohmann::json::object());
    const auto total = round.value("bytes_total", std::uint64_t{0});
    if (total == 0) {
        return phase + count_text(push.value("nodes", 0U), "node");
    }
    const bool knows_all = round.contains("bytes_least");
    const auto bytes = std::min(
        round.value(knows_all ? "bytes_least" : "bytes_here", std::uint64_t{0}), total);
    return phase + amount_text(bytes) + " of " + amount_text(total) +
           (knows_all ? group_part(round, bytes, total) : own_part(round));
}

PushProgress::PushProgress(std::string socket, const StageKey& id, bool is_quiet)
    : socket_{std::move(socket)},
      id_{id},
      is_quiet_{is_quiet},
      is_terminal_{::isatty(STDERR_FILENO) == 1},
      next_{std::chrono::steady_clock::now() +
            (is_terminal_ ? std::chrono::seconds{0} : kLineEvery)} {
}

void PushProgress::show() {
    const auto now = std::chrono::steady_clock::now();
    if (is_quiet_ || now < next_) {
        return;
    }
    next_ = is_terminal_ ? now : now + kLineEvery;
    const auto answer = ask_daemon(
        socket_, StatusRequest{.kind = StatusKind::running, .key = id_}, kShortTimeout);
    const auto* report = answer ? std::get_if<Report>(&*answer) : nullptr;
    const auto status = report != nullptr ? nlohmann::json::parse(report->json, nullptr, false)
                                          : nlohmann::json();
    const auto pushes =
        status.is_object() ? status.value("pushes", nlohmann::json::array()) : nlohmann::json();
    if (!pushes.is_array() || pushes.empty()) {
        return;
    }
    is_drawn_ = is_terminal_;
    static_cast<void>(std::fprintf(stderr,
                                   is_terminal_ ? "\r\x1b[K%s" : "stagecast push: %s\n",
                                   progress_line(pushes[0]).c_str()));
}

void PushProgress::clear() {
    if (std::exchange(is_drawn_, false)) {
        static_cast<void>(std::fputs("\r\x1b[K", stderr));
    }
}

}  // namespace stage

#include "stager/cli/push_progress.h"

#include "stager/control/client.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

constexpr CallPatience kBrief{.connect = std::chrono::seconds{1},
                              .answer = std::chrono::seconds{1}};
/// Between two lines where there is no terminal.
constexpr std::chrono::seconds kLineEvery{10};

std::string mega(double bytes) {
    std::array<char, 48> text{};
    static_cast<void>(std::snprintf(text.data(), text.size(), "%.1f", bytes / 1e6));
    return text.data();
}

}  // namespace

std::string progress_line(const nlohmann::json& push) {
    std::string line = push.value("phase", "?");
    const auto round = push.value("round", nlohmann::json::object());
    const double total = round.value("bytes_total", 0.0);
    if (total <= 0) {
        return line + ": " + std::to_string(push.value("nodes", 0)) + " nodes";
    }
    const double least = round.value("bytes_least", 0.0);
    const double rate = round.value("bytes_per_second", 0.0);
    line += ": " + mega(least) + " of " + mega(total) + " MB";
    if (rate > 0) {
        line += ", " + mega(rate) + " MB/s, " +
                std::to_string(static_cast<long>((total - least) / rate)) + " s to go";
    }
    line += ", " + std::to_string(round.value("done", 0)) + " of " +
            std::to_string(round.value("nodes", 0)) + " nodes done";
    return line + ", slowest " + round.value("slowest", "?");
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
    const auto answer =
        ask_daemon(socket_, StatusRequest{.kind = StatusKind::running, .key = id_}, kBrief);
    const auto* report = answer ? std::get_if<Report>(&*answer) : nullptr;
    const auto told = report != nullptr ? nlohmann::json::parse(report->json, nullptr, false)
                                        : nlohmann::json();
    const auto pushes =
        told.is_object() ? told.value("pushes", nlohmann::json::array()) : nlohmann::json();
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

#include "spank/host/daemon_talk.h"

namespace stage {

std::string node_name(const SpankHandle& handle) {
    auto name = handle.variable("SLURMD_NODENAME");
    if (!name) {
        name = handle.job_variable("SLURMD_NODENAME");
    }
    return name.value_or("");
}

CallTimeouts timeouts_of(const Site& site) {
    return {
        .connect = kConnectTimeout, .answer = site.stage_timeout + kGrace, .absent = kRestart};
}

std::uint32_t number_of(const std::optional<std::string>& text) {
    std::uint32_t number = 0;
    for (const char c : text.value_or("")) {
        if (c < '0' || c > '9' || number > 100'000'000) {
            return 0;
        }
        number = number * 10 + static_cast<std::uint32_t>(c - '0');
    }
    return number;
}

StageRequest bounded(StageRequest request) {
    const auto bound = [](std::string& text, std::size_t limit) {
        if (text.size() > limit) {
            text.clear();
        }
    };
    bound(request.node_name, kMaxNameBytes);
    bound(request.node_list, kMaxNodeListBytes);
    bound(request.work_dir, kMaxPathBytes);
    bound(request.specs, kMaxSpecsBytes);
    if (!request.work_dir.starts_with('/')) {
        request.work_dir.clear();
    }
    return request;
}

bool is_unknown(const Answer& answer) {
    const auto* const verdict = std::get_if<Verdict>(&answer);
    return verdict != nullptr && verdict->state == VerdictState::unknown;
}

std::optional<std::string> objection(const Answer& answer, bool is_script_first) {
    if (const auto* const refused = std::get_if<Refused>(&answer)) {
        return "stagecastd refuses: " + refused->sentence;
    }
    const auto* const verdict = std::get_if<Verdict>(&answer);
    if (verdict == nullptr) {
        return "stagecastd's answer does not fit the request";
    }
    switch (verdict->state) {
        case VerdictState::ok:
        case VerdictState::partial:
            return std::nullopt;
        case VerdictState::failed:
        case VerdictState::dropped:
            return verdict->sentence.empty() ? "staging failed" : verdict->sentence;
        case VerdictState::unknown:
            return std::string{"stagecastd knows nothing of this job's files; "} +
                   (is_script_first
                        ? "was it stopped, or did the site's Prolog script not call `stagecast "
                          "prolog`, as StageFrom=prolog-script wants?"
                        : "was it stopped, or could slurmd not load the plugin when it "
                          "started? (Then restart slurmd.)") +
                   " See slurmd's and stagecastd's logs";
        case VerdictState::busy:
            break;
    }
    return "staging has not ended within StageTimeout";
}

Blame blame_of(const Answer& answer) {
    if (const auto* const refused = std::get_if<Refused>(&answer)) {
        return refused->blame;
    }
    const auto* const verdict = std::get_if<Verdict>(&answer);
    const bool has_blame = verdict != nullptr && is_failure(verdict->state);
    return has_blame ? verdict->blame : Blame::node;
}

}  // namespace stage

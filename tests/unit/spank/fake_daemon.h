// A daemon that remembers what the plugin asked it.
#pragma once

#include "spank/job/step_side.h"

#include <vector>

namespace stage {

inline constexpr const char* kSpecs = "1;-,/data/a,";

/// A daemon that records requests and gives preset answers.
struct FakeDaemon {
    std::vector<Request> asked;
    int waits = 0;                        ///< For the answer to what was begun.
    std::vector<Result<Answer>> answers;  ///< The first ones, if any; then
    Result<Answer> answer = Answer{Verdict{}};

    AskDaemon ask() {
        return [this](const Request& request, const CallTimeouts& /*timeouts*/) {
            asked.push_back(request);
            return asked.size() <= answers.size() ? answers[asked.size() - 1] : answer;
        };
    }

    BeginAsking begin() {
        return [this](const Request& request, const CallTimeouts&) -> Result<AwaitAnswer> {
            asked.push_back(request);
            return AwaitAnswer{[this] {
                ++waits;
                return answer;
            }};
        };
    }
};

inline const Arguments kArguments{.conf_path = "/nonexistent"};

inline Verdict good() {
    return {
        .state = VerdictState::ok, .stage_dir = "/stage/7", .paths = {"/stage/7/a", "/s/b"}};
}

}  // namespace stage

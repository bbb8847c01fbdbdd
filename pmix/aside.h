// Runs a blocking call in a thread of its own and waits for its result with a time-out.
//
// On a time-out the thread is left behind with everything that it owns, and the caller goes on.
// Both share the state; the last owner frees it.
#pragma once

#include "pmix/directory.h"
#include "transport/os/unique_fd.h"

#include <functional>
#include <memory>

namespace stage {

/// Waits until `done_fd` is readable. Fails with ETIMEDOUT or ECANCELED as Directory::collect
/// does; `doing` begins the error's text.
[[nodiscard]] Status wait_readable(int done_fd,
                                   const WaitLimit& wait_limit,
                                   const std::string& doing);

/// An event that one thread sets and another thread waits for with poll() and then clears with
/// take_event(). Memory written before set_event() is visible after take_event().
[[nodiscard]] UniqueFd make_event();
void set_event(const UniqueFd& event);
void take_event(const UniqueFd& event);

/// Runs `work` in a detached thread. `work` must own, or share, everything that it uses.
[[nodiscard]] Status run_with_timeout(std::function<void()> work);

/// Returns the result of `work`, or the time-out or interruption that ended the wait.
template <class Answer>
[[nodiscard]] Result<Answer> call_with_timeout(const WaitLimit& wait_limit,
                                               const std::string& doing,
                                               std::function<Result<Answer>()> work) {
    struct Shared {
        UniqueFd done = make_event();
        std::optional<Result<Answer>> answer;
    };
    const auto shared = std::make_shared<Shared>();
    const Status started = run_with_timeout([shared, work = std::move(work)] {
        shared->answer = work();
        set_event(shared->done);
    });
    if (!started) {
        return started.error();
    }
    TRY(wait_readable(shared->done.get(), wait_limit, doing));
    take_event(shared->done);
    return *std::move(shared->answer);
}

}  // namespace stage

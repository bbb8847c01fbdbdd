// How is a call bounded that can't be interrupted?
//
// It runs in a thread of its own and its result is waited for no longer than patience lasts. If
// that ends first the thread is left behind with everything it owns, and the caller goes on:
// both share the state, and whoever is last frees it.
#pragma once

#include "pmix/directory.h"
#include "transport/os/unique_fd.h"

#include <functional>
#include <memory>

namespace stage {

/// Waits until `done_fd` is readable. Fails with ETIMEDOUT or ECANCELED as Directory::collect
/// does; `doing` begins the sentence.
[[nodiscard]] Status wait_readable(int done_fd,
                                   const Patience& patience,
                                   const std::string& doing);

/// An event that one thread sets and another waits for by poll(), and takes: what was written
/// before it was set is seen after it was taken.
[[nodiscard]] UniqueFd make_event();
void set_event(const UniqueFd& event);
void take_event(const UniqueFd& event);

/// Runs `work` in a detached thread. `work` must own, or share, all that it touches.
[[nodiscard]] Status run_with_timeout(std::function<void()> work);

/// The result of `work`, or why it was not waited for any longer.
template <class Answer>
[[nodiscard]] Result<Answer> call_aside(const Patience& patience,
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
    if (Status waited = wait_readable(shared->done.get(), patience, doing); !waited) {
        return waited.error();
    }
    take_event(shared->done);
    return *std::move(shared->answer);
}

}  // namespace stage

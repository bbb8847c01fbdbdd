// Lets several processes wait for one answer of the daemon.
//
// slurmstepd sends a request and forks its tasks, and each of them needs the answer. One
// process at a time reads from the connection and stores the bytes where the others find them,
// in a memfd. If it is killed another one continues.
#pragma once

#include "stager/control/client.h"

#include <chrono>

namespace stage {

class SharedCall {
  public:
    /// Fails as Call::begin() does. `timeouts.answer` counts from now, for all waiting
    /// processes.
    [[nodiscard]] static Result<SharedCall> begin(const std::string& socket_path,
                                                  const Request& request,
                                                  const CallTimeouts& timeouts);

    /// Waits for the answer: here, and in every process forked since, under any uid.
    [[nodiscard]] Result<Answer> answer() const;

  private:
    SharedCall(Call call, UniqueFd kept, std::chrono::steady_clock::time_point deadline)
        : call_{std::move(call)}, kept_{std::move(kept)}, deadline_{deadline} {}

    [[nodiscard]] std::vector<std::byte> kept() const;

    Call call_;
    UniqueFd kept_;  ///< The part of the answer that has been read.
    std::chrono::steady_clock::time_point deadline_;
};

}  // namespace stage

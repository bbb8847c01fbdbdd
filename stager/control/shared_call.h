// How do several processes wait for one answer?
//
// slurmstepd makes a request and forks its tasks, and each of them needs the answer. One at a
// time reads from the connection, and keeps what comes where the others find it: a file in
// memory. Who is killed meanwhile leaves the rest to the next.
#pragma once

#include "stager/control/client.h"

#include <chrono>

namespace stage {

class SharedCall {
  public:
    /// Fails as Call::begin() does. `patience.answer` counts from now, whoever waits.
    [[nodiscard]] static Result<SharedCall> begin(const std::string& socket_path,
                                                  const Request& request,
                                                  const CallPatience& patience);

    /// Waits for it: here, and in every process forked since, as whatever user.
    [[nodiscard]] Result<Answer> answer() const;

  private:
    SharedCall(Call call, UniqueFd kept, std::chrono::steady_clock::time_point deadline)
        : call_{std::move(call)}, kept_{std::move(kept)}, deadline_{deadline} {}

    [[nodiscard]] std::vector<std::byte> kept() const;

    Call call_;
    UniqueFd kept_;  ///< What has been read of the answer.
    std::chrono::steady_clock::time_point deadline_;
};

}  // namespace stage

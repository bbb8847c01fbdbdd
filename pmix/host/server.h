// The part of the PMIx server library that a PMIx host uses.
//
// The host (host.h) is written against this interface and not against PMIx, so that it is
// tested without PMIx; pmix_server.h implements it. No call waits for the library's progress
// thread: results that take time arrive as Upcalls.
#pragma once

#include "pmix/host/upcall.h"
#include "pmix/host_message.h"

#include <string>
#include <vector>

namespace stage::pmix_host {

class Server {
  public:
    Server() = default;
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    virtual ~Server() = default;

    /// Changes to the job's user and registers the job with the library. Completes with a
    /// Registered.
    [[nodiscard]] virtual Status adopt(const HostJob& job) = 0;
    /// Returns the worker's environment variables. Call after a successful Registered.
    [[nodiscard]] virtual Result<std::vector<std::string>> environment(const HostJob& job) = 0;

    /// Completes a fence with all nodes' bytes; `data` may be moved from.
    virtual void complete_fence(Call call, std::vector<std::byte> data) = 0;
    virtual void complete_group(Call call, std::uint64_t context_id) = 0;
    /// Fails a fence or group: a member is lost.
    virtual void refuse(Call call) = 0;

    /// Requests a Pulse from the progress thread.
    virtual void ask_pulse() = 0;
};

}  // namespace stage::pmix_host

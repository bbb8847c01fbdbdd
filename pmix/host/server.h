// What does a PMIx host need of the PMIx server library?
//
// These few things. The host (host.h) is written against them and not against PMIx, so that its
// order of events is tested without any; pmix_server.h is the real one. Nothing here waits for
// the library's progress thread: what takes time comes back as an Upcall.
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

    /// Becomes the job's user, then tells the library the job. Ends with a Registered.
    [[nodiscard]] virtual Status adopt(const HostJob& job) = 0;
    /// The worker's variables. After a good Registered.
    [[nodiscard]] virtual Result<std::vector<std::string>> environment(const HostJob& job) = 0;

    /// Answers a fence with everybody's bytes; `data` may be given away.
    virtual void complete_fence(Call call, std::vector<std::byte> data) = 0;
    virtual void complete_group(Call call, std::uint64_t context_id) = 0;
    /// Answers either: a member is lost.
    virtual void refuse(Call call) = 0;

    /// Asks the progress thread for a Pulse.
    virtual void ask_pulse() = 0;
};

}  // namespace stage::pmix_host

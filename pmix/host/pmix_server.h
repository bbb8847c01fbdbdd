// Runs the PMIx server library for one job, isolated from other jobs.
//
// It starts early (PMIx_server_init takes 30 ms), as root, with the only usable settings of
// PMIx 4.2: gds=hash (the shared-memory store fails every worker when the process changes its
// uid later) and psec=munge (native believes any uid that a client states). It serves one
// namespace with one client and is never finalized: the process exits.
#pragma once

#include "pmix/host/gate.h"
#include "pmix/host/mailbox.h"
#include "pmix/host/server.h"

#include <memory>

namespace stage::pmix_host {

struct ServerSettings {
    std::string directory;  ///< For PMIx' files; the worker's HOME.
    std::string security = "munge";
    Gate* gate = nullptr;  ///< Before the library's listener; outlives the server.
};

class PmixServer final : public Server {
    struct Key {};  ///< Only start() can make one.

  public:
    /// Calls PMIx_server_init. There is one per process, for its whole life. `mailbox` must
    /// outlive it.
    [[nodiscard]] static Result<std::unique_ptr<PmixServer>> start(
        const ServerSettings& settings, Mailbox& mailbox);
    PmixServer(Key key, const ServerSettings& settings);
    PmixServer(const PmixServer&) = delete;
    PmixServer& operator=(const PmixServer&) = delete;
    ~PmixServer() override;

    [[nodiscard]] Status adopt(const HostJob& job) override;
    [[nodiscard]] Result<std::vector<std::string>> environment(const HostJob& job) override;
    void complete_fence(Call call, std::vector<std::byte> data) override;
    void complete_group(Call call, std::uint64_t context_id) override;
    void refuse(Call call) override;
    void ask_pulse() override;

  private:
    struct JobInfo;
    [[nodiscard]] Status lead_through_gate(std::vector<std::string>& variables,
                                           uid_t user) const;

    ServerSettings settings_;
    std::unique_ptr<JobInfo> job_info_;  ///< PMIx reads it until the job is registered.
};

}  // namespace stage::pmix_host

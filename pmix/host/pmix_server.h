// How is the PMIx server library used so that it serves one job and can't harm another?
//
// Started early (it takes 30 ms), as root, with the stores and the security that facts about
// PMIx 4.2 leave: gds=hash (the shared-memory store fails every worker when the process becomes
// the user later), psec=munge (native believes whatever uid a client states). It serves one
// namespace with one client and is never finalized: the process exits.
#pragma once

#include "pmix/host/gate.h"
#include "pmix/host/mailbox.h"
#include "pmix/host/server.h"

#include <memory>

namespace stage::pmix_host {

struct ServerSettings {
    std::string directory;  ///< PMIx' files, if it makes any; the worker's HOME.
    std::string security = "munge";
    Gate* gate = nullptr;  ///< In front of the library's listener; must outlive the server.
};

class PmixServer final : public Server {
    struct Key {};  ///< Only start() has one.

  public:
    /// PMIx_server_init. One in a process, for its whole life. `mailbox` must outlive it.
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
    std::unique_ptr<JobInfo> job_info_;  ///< PMIx reads it until it has registered the job.
};

}  // namespace stage::pmix_host

// Asks the daemon of a job's first node for the state of the job's stages.
//
// A user may ask on any node of the job, but the first node knows more. Its daemon is asked in
// the user's name: it applies the same rule (reporter.h), and trusts the uid because only
// root's daemons can connect to it. If it does not answer, this node's own state has to do.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/node_addresses.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/link_dialer.h"
#include "stager/daemon/tree/tree_message.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace stage {

/// The commands wait at most ten seconds.
inline constexpr Duration kRemoteStatusMax = std::chrono::seconds{8};

class RemoteStatus {
  public:
    /// The JSON, or nothing if the node did not answer. The callback may destroy the object.
    using OnReport = std::function<void(std::optional<std::string>)>;

    /// All three outlive the object.
    RemoteStatus(const Basics& basics, const NodeAddresses& addresses, LinkDialer& dialer);
    RemoteStatus(const RemoteStatus&) = delete;
    RemoteStatus& operator=(const RemoteStatus&) = delete;
    ~RemoteStatus() = default;

    /// Asks the daemon of `node`. `on_report` is called once, later.
    void ask(const ReportQuestion& question, const std::string& node, OnReport on_report);

  private:
    void connect(const std::string& node, const std::string& host);
    void on_change();
    void finish(std::optional<std::string> report);

    const Basics& basics_;
    const NodeAddresses& addresses_;
    LinkDialer& dialer_;
    SlurmAsker asker_;
    ReportQuestion question_;
    std::unique_ptr<DrivenLink> link_;
    Alarm alarm_;
    OnReport on_report_;
};

/// The questions under way, at most kRemoteStatusesMax, of one user half of them.
class RemoteStatuses {
  public:
    /// All three outlive the object.
    RemoteStatuses(const Basics& basics, const NodeAddresses& addresses, LinkDialer& dialer)
        : basics_{basics}, addresses_{addresses}, dialer_{dialer} {}

    /// False, and no callback, if too many are under way, in all or of this user.
    [[nodiscard]] bool ask(const ReportQuestion& question,
                           const std::string& node,
                           RemoteStatus::OnReport on_report);

  private:
    const Basics& basics_;
    const NodeAddresses& addresses_;
    LinkDialer& dialer_;
    struct Asked {
        std::uint32_t uid = 0;
        std::shared_ptr<RemoteStatus> status;
    };
    std::map<std::uint64_t, Asked> asked_;
    std::uint64_t last_ = 0;
};

/// Each costs a question to Slurm and a handshake.
inline constexpr std::size_t kRemoteStatusesMax = 16;
/// Limits a user who is not root.
inline constexpr std::size_t kRemoteStatusesOfUserMax = kRemoteStatusesMax / 2;

}  // namespace stage

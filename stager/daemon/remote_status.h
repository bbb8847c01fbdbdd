// A node of the job is asked how far it is, but its first node knows more: what does that say?
//
// That node's daemon is asked, in the name of whoever asks here: it judges by the same rule
// whom it tells what (reporter.h), and believes the uid, because only root's daemons can speak
// to it. If it is silent what is known here must do.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace stage {

/// Whoever asks waits no longer than ten seconds.
inline constexpr Duration kFarReportMax = std::chrono::seconds{8};

class RemoteStatus {
  public:
    /// The JSON; nothing if it did not come. It may destroy this.
    using OnReport = std::function<void(std::optional<std::string>)>;

    /// `services` outlives it.
    explicit RemoteStatus(Services& services);
    RemoteStatus(const RemoteStatus&) = delete;
    RemoteStatus& operator=(const RemoteStatus&) = delete;
    ~RemoteStatus() = default;

    /// Of the daemon of `node`. `on_report` comes once, later.
    void ask(const ReportQuestion& question, const std::string& node, OnReport on_report);

  private:
    void connect(const std::string& node, const std::string& host);
    void on_change();
    void finish(std::optional<std::string> report);

    Services& services_;
    SlurmAsker asker_;
    ReportQuestion question_;
    std::unique_ptr<DrivenLink> link_;
    Alarm alarm_;
    OnReport on_report_;
};

/// Several at one time, for as many as may ask.
class RemoteStatuses {
  public:
    /// `services` outlives it.
    explicit RemoteStatuses(Services& services) : services_{services} {}

    /// False, and nothing comes, if too many are under way.
    [[nodiscard]] bool ask(const ReportQuestion& question,
                           const std::string& node,
                           RemoteStatus::OnReport on_report);

  private:
    Services& services_;
    std::map<std::uint64_t, std::shared_ptr<RemoteStatus>> asked_;
    std::uint64_t last_ = 0;
};

/// Each costs a question to Slurm and a login.
inline constexpr std::size_t kFarReportsMax = 16;

}  // namespace stage

// Knows which nodes serve the leases of this cluster's files.
//
// Slurm's table of all nodes determines them: it is asked once in kLeaseServersAge, sooner
// where a lease server turns out to be unreachable, and not again for a while when Slurm is
// silent. A lease server that did not answer isn't asked for as long either: a node that is
// down delays one stage, not each.
#pragma once

#include "stager/cache/leases.h"
#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/slurm_asker.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stage {

inline constexpr Duration kLeaseServersAge = std::chrono::hours{1};
/// Applies when the cluster seems to have changed.
inline constexpr Duration kLeaseServersAgeLeast = std::chrono::minutes{5};
inline constexpr Duration kSilentServer = std::chrono::seconds{30};

class LeaseServers {
  public:
    using OnKnown = std::function<void()>;

    /// `basics` outlives the object. The loop calls `on_known` after each prepare().
    LeaseServers(const Basics& basics, OnKnown on_known)
        : basics_{basics},
          on_known_{std::move(on_known)},
          asker_{basics.loop, basics.children} {}

    /// Asks Slurm for the nodes if the last answer is too old.
    void prepare();
    /// Null if the lease server is unknown or silent, or if this node is the only one.
    [[nodiscard]] const SlurmNode* server_of(const LeasedFile& file) const;
    void on_silent(const std::string& node);
    /// Sets the nodes as Slurm's answer would.
    void know(std::vector<SlurmNode> nodes);

  private:
    void on_answer(const Result<SlurmAnswer>& answer);

    const Basics& basics_;
    OnKnown on_known_;
    SlurmAsker asker_;
    std::vector<SlurmNode> nodes_;
    std::vector<std::string> names_;  ///< The names of nodes_.
    std::map<std::string, Instant> silent_until_;
    std::optional<Instant> fresh_until_;
    Instant known_at_{};
};

}  // namespace stage

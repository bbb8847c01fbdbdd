// Which nodes keep the leases of this cluster's files?
//
// Slurm knows, by the table of all nodes: it is asked once in kKeepersAge, sooner where a
// keeper turns out to be away, and not again for a while when it is silent. A keeper that did
// not answer isn't asked for as long either: a node that is down costs one stage its patience,
// not each.
#pragma once

#include "stager/cache/leases.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/base/slurm_asker.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stage {

inline constexpr Duration kKeepersAge = std::chrono::hours{1};
/// Where the cluster seems to have changed.
inline constexpr Duration kKeepersAgeLeast = std::chrono::minutes{5};
inline constexpr Duration kSilentKeeper = std::chrono::seconds{30};

class LeaseServers {
  public:
    using OnKnown = std::function<void()>;

    /// `services` outlives it. `on_known` comes, from the loop, after each prepare().
    LeaseServers(Services& services, OnKnown on_known)
        : services_{services}, on_known_{std::move(on_known)}, asker_{services} {}

    /// Asks Slurm unless it has been asked.
    void prepare();
    /// Nobody where it isn't known, is silent, or is the only node that there is.
    [[nodiscard]] const SlurmNode* keeper_of(const LeasedFile& file) const;
    void on_silent(const std::string& node);
    /// As Slurm would say it.
    void know(std::vector<SlurmNode> nodes);

  private:
    void on_answer(const Result<SlurmAnswer>& answer);

    Services& services_;
    OnKnown on_known_;
    SlurmAsker asker_;
    std::vector<SlurmNode> nodes_;
    std::vector<std::string> names_;  ///< Theirs.
    std::map<std::string, Instant> silent_until_;
    std::optional<Instant> fresh_until_;
    Instant known_at_{};
};

}  // namespace stage

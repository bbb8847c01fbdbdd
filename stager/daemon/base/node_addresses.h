// Keeps the addresses of nodes as Slurm last gave them, so that slurmctld is asked less often.
#pragma once

#include "transport/base/units.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace stage {

/// A cloud's node may come back with another address within a minute. (Tasks of an array that
/// begin together share an answer.)
inline constexpr Duration kAddressAge = std::chrono::seconds{30};

class NodeAddresses {
  public:
    /// Slurm gave `address` for `node`. `asked`: when; without it the age does not change.
    void learn(const std::string& node, std::string address, std::optional<Instant> asked = {});
    /// `node` could not be reached: its address counts as old.
    void doubt(const std::string& node);

    /// The last address of `node`, of whatever age.
    [[nodiscard]] std::optional<std::string> of(const std::string& node) const;
    /// True if Slurm gave the address of `node` in the last kAddressAge.
    [[nodiscard]] bool is_fresh(const std::string& node, Instant now) const;

  private:
    struct Known {
        std::string address;
        std::optional<Instant> asked;
    };

    std::unordered_map<std::string, Known> known_;  ///< Bounded by the cluster's size.
};

}  // namespace stage

// Tells whether this host's Slurm can load the plugin.
//
// Slurm loads a SPANK plugin only if the release in its symbol `plugin_version` has the two
// first numbers of its own (src/common/plugin.c, _verify_syms() of Slurm 22.05; spank(8)).
#pragma once

#include "stager/cli/common/finding.h"

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

namespace stage {

/// "22.05"
struct SlurmRelease {
    std::uint32_t year = 0;
    std::uint32_t month = 0;

    bool operator==(const SlurmRelease&) const = default;
};
[[nodiscard]] std::string text_of(const SlurmRelease& release);

/// The release that the shared object is made for. Fails (Blame::node) if it can't be read or
/// is no SPANK plugin for this kind of processor.
[[nodiscard]] Result<SlurmRelease> release_of_plugin(const std::string& path);

/// The release in what a program of Slurm prints for -V: "slurm-wlm 22.05.8".
[[nodiscard]] std::optional<SlurmRelease> release_in(const std::string& printed);

/// What is known of the Slurm of this host.
struct SlurmHere {
    std::optional<SlurmRelease> release;         ///< slurmd's, on other hosts its commands'.
    std::optional<std::time_t> slurmd_began_at;  ///< Empty: none is seen.
};
[[nodiscard]] SlurmHere slurm_here();

/// `plugin`: an absolute path.
[[nodiscard]] Finding judge_plugin(const std::string& plugin, const SlurmHere& here);

/// Judges the plugin without a question to slurmctld: reads slurm.conf and plugstack.conf where
/// slurmd looks for them. Nothing if they name no absolute path.
[[nodiscard]] std::optional<Finding> check_plugin();

}  // namespace stage

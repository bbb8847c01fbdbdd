// What does scontrol say?
//
// For as long as it takes; what it prints is split here, and judged by the checks.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace stage {

/// `scontrol --oneliner show WHAT`; empty if slurmctld does not answer.
[[nodiscard]] std::string scontrol_show(const std::string& what);

using SlurmSettings = std::map<std::string, std::string>;

/// Of `scontrol show config`: "PrologFlags             = Alloc,DeferBatch".
[[nodiscard]] SlurmSettings settings_of(const std::string& printed);
/// Empty if there is none, or "(null)".
[[nodiscard]] std::string setting(const SlurmSettings& settings, const std::string& name);

struct HostedNode {
    std::string name;
    std::string host;     ///< NodeHostName.
    std::string address;  ///< NodeAddr.
};

/// Of `scontrol --oneliner show node`.
[[nodiscard]] std::vector<HostedNode> nodes_of(const std::string& printed);

}  // namespace stage

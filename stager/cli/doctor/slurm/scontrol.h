// Runs scontrol and splits its output.
//
// A call takes as long as scontrol does. The checks interpret the values.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace stage {

/// What a line of the shell prints to its standard output.
[[nodiscard]] std::string output_of(const std::string& line);

/// Runs `scontrol --oneliner show WHAT`; empty if slurmctld does not answer.
[[nodiscard]] std::string scontrol_show(const std::string& what);

using SlurmSettings = std::map<std::string, std::string>;

/// Parses `scontrol show config`: "PrologFlags             = Alloc,DeferBatch".
[[nodiscard]] SlurmSettings settings_of(const std::string& printed);
/// The setting's value; empty if it is missing or "(null)".
[[nodiscard]] std::string setting(const SlurmSettings& settings, const std::string& name);

struct HostedNode {
    std::string name;
    std::string host;     ///< NodeHostName.
    std::string address;  ///< NodeAddr.
};

/// Parses `scontrol --oneliner show node`.
[[nodiscard]] std::vector<HostedNode> nodes_of(const std::string& printed);

}  // namespace stage

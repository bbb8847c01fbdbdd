// Checks whether other nodes can reach this one as its stages need it, from this node alone.
#pragma once

#include "stager/cli/common/finding.h"
#include "stager/config/config.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

/// An address that an interface of this host has, numeric.
struct AddressSeen {
    std::string interface;
    std::string address;
};

/// The addresses of IPv4 and IPv6 on this node.
[[nodiscard]] std::vector<AddressSeen> addresses_seen();

/// `report_text`: the daemon's STATUS report; empty: there is none, and another check says so.
[[nodiscard]] std::optional<Finding> judge_data_ports(const Config& config,
                                                      const std::string& report_text);
/// Asks stagecastd whether it holds the UDP ports of DataPortRange.
[[nodiscard]] std::optional<Finding> check_data_ports(const Config& config);

/// `range` and `reserved`: the contents of /proc/sys/net/ipv4/ip_local_port_range and
/// ip_local_reserved_ports. Nothing where these can't be read.
[[nodiscard]] std::optional<Finding> judge_local_ports(const Config& config,
                                                       const std::string& range,
                                                       const std::string& reserved);
/// Checks that the kernel gives Port and DataPortRange to no connection of another program.
[[nodiscard]] std::optional<Finding> check_local_ports(const Config& config);

/// `numeric`: what Slurm's NodeAddr of this node, `node_address`, means here; empty: nothing.
[[nodiscard]] Finding judge_node_address(const Config& config,
                                         const std::string& node_address,
                                         const std::string& numeric,
                                         const std::vector<AddressSeen>& seen);
/// Nothing where Slurm has no NodeAddr.
[[nodiscard]] std::optional<Finding> check_node_address(const Config& config,
                                                        const std::string& node_address);

/// Sends by TCP and by UDP to itself: a worker reaches its PMIx host by the loopback.
[[nodiscard]] Finding check_loopback();

}  // namespace stage

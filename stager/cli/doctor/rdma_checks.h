// Checks whether stagings can use the RDMA device below an interface of the site.
#pragma once

#include "stager/cli/common/finding.h"
#include "stager/config/config.h"

#include <vector>

namespace stage {

/// The state of this node's RDMA devices.
struct RdmaSeen {
    bool has_device = false;     ///< The kernel has any.
    bool users_may_open = true;  ///< All users may open /dev/infiniband/rdma_cm.
    std::string port{};     ///< "mlx5_0 port 1, datagrams of 4096 bytes", if it can be used.
    std::string why_not{};  ///< If it can't: with the remedy.
};

/// Looks at the device below the first interface of `config` that this node has.
[[nodiscard]] RdmaSeen rdma_seen(const Config& config);

/// Says nothing unless Transport=verbs asks for a device.
[[nodiscard]] std::vector<Finding> judge_rdma(const RdmaSeen& seen, Transport transport);

}  // namespace stage

// An RDMA device by rdma-core: libibverbs and librdmacm.
//
// A build without their headers has no such device, and says so.
#pragma once

#include "transport/verbs/device.h"

namespace stage::verbs {

/// Opens the port of the RDMA device below the interface. Fails (Blame::node) if there is none,
/// if this process may not use it, if it is not active, or if its MTU is below kMinPortMtu.
[[nodiscard]] Result<std::unique_ptr<DevicePort>> open_device_port(const PortPlan& plan);

/// Control packets are longer than the next smaller MTU, 1024 bytes.
inline constexpr std::uint32_t kMinPortMtu = 2048;

}  // namespace stage::verbs

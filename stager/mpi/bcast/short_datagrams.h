// Unreliable datagrams between the members of a communicator's group, for short messages.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/fabric/driver.h"

#include <memory>
#include <span>
#include <string>

namespace stage {

class ShortDatagrams {
  public:
    ShortDatagrams() = default;
    ShortDatagrams(const ShortDatagrams&) = delete;
    ShortDatagrams& operator=(const ShortDatagrams&) = delete;
    virtual ~ShortDatagrams() = default;

    /// Multicasts 1 to kShortFragments datagrams, all of one length but the last one, which may
    /// be shorter. What finds no room is lost.
    virtual void send(std::span<const Bytes> datagrams) = 0;
    /// The next datagram that has arrived, in memory that the caller may change until the next
    /// call; empty: there is none.
    [[nodiscard]] virtual MutableBytes receive() = 0;
};

/// Sends from the interface that has the address `own` to the group's address and port.
[[nodiscard]] Result<std::unique_ptr<ShortDatagrams>> short_by_udp(
    const Address& group, const Address& own, const std::string& interface);

/// `driver`: a member of the group that only the communicator's leaders have.
[[nodiscard]] std::unique_ptr<ShortDatagrams> short_by_driver(std::unique_ptr<Driver> driver);

}  // namespace stage

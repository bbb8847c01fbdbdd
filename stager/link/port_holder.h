// Finds out what holds a TCP port of this host, from the kernel's tables of sockets.
//
// Many sites let the kernel draw source ports of connections from a range in which the daemon's
// port lies, so that any program's connection can have it.
#pragma once

#include "transport/base/address.h"

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

namespace stage {

struct PortHolder {
    bool listens = false;  ///< False: a connection has the port as its own.
    Address peer;          ///< The peer of a connection.
    std::uint32_t uid = 0;
};

/// The socket that keeps others from listening at that port, by a table in the format of
/// /proc/net/tcp or tcp6; a listener rather than a connection.
[[nodiscard]] std::optional<PortHolder> find_holder(std::istream& table, std::uint16_t port);
/// By the tables of this process's network namespace.
[[nodiscard]] std::optional<PortHolder> find_holder(std::uint16_t port);

/// What holds the port, and the remedy: "a connection of uid 1000 to 10.0.0.1:22 has it; ...".
[[nodiscard]] std::string holder_text(const std::optional<PortHolder>& holder,
                                      std::uint16_t port);

}  // namespace stage

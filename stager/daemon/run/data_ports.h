// Holds the UDP ports of DataPortRange, so that no other program can take one that a stage
// needs.
//
// A port that is bound on any address of a node can't be a group's there. An unprivileged user
// could bind all of the range and fail every job of several nodes. So the daemon holds the
// ports from its start, and opens its stages' sockets beside its own (transport/udp/sockets.h).
// What another program had before stays with that; groups get other ports. The ports of pushes
// without daemons are left to these (config/engine_ports.h).
#pragma once

#include "stager/config/config.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace stage {

class DataPorts {
  public:
    using Ports = std::set<std::uint16_t>;

    /// A longer range is held in part.
    static constexpr std::size_t kMost = 256;

    /// Tries those that are not held yet, and lets go what is not in the range any more.
    void hold(const ConfigRange<std::uint16_t>& range);

    [[nodiscard]] bool is_held(std::uint16_t port) const { return held_.contains(port); }
    /// What another program had at the last hold().
    [[nodiscard]] const Ports& taken() const { return taken_; }

    /// The first of `flows` neighbouring ports of the range, none of them in `excluded` or
    /// taken: held ones if there are any. By `draw`, of any value.
    [[nodiscard]] std::optional<std::uint16_t> draw(const ConfigRange<std::uint16_t>& range,
                                                    std::size_t flows,
                                                    std::uint32_t draw,
                                                    const Ports& excluded) const;

  private:
    std::map<std::uint16_t, UniqueFd> held_;
    Ports taken_;
};

}  // namespace stage

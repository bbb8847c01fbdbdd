// Holds the UDP ports of DataPortRange, so that no other program can take one that a stage
// needs.
//
// A port that is bound on any address of a node can't be a group's on that node. An
// unprivileged user could bind the whole range and so fail every job of several nodes.
// Therefore the daemon binds the ports from its start on, and opens its stages' sockets beside
// its own (transport/udp/sockets.h). Ports that another program already uses are left to it;
// groups get other ports. The ports of pushes without daemons are left to these
// (config/engine_ports.h).
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

    /// Ports that are held at most; of a longer range the rest is not.
    static constexpr std::size_t kMost = 256;

    /// Binds the ports that are not held yet, and closes those that have left the range.
    void hold(const ConfigRange<std::uint16_t>& range);

    [[nodiscard]] bool is_held(std::uint16_t port) const { return held_.contains(port); }
    /// The ports that other programs used at the last hold().
    [[nodiscard]] const Ports& taken() const { return taken_; }

    /// The first of `flows` consecutive ports of the range, none of them in `excluded` or
    /// taken; held ones if possible. `draw`, any value, selects among the candidates.
    [[nodiscard]] std::optional<std::uint16_t> draw(const ConfigRange<std::uint16_t>& range,
                                                    std::size_t flows,
                                                    std::uint32_t draw,
                                                    const Ports& excluded) const;

  private:
    std::map<std::uint16_t, UniqueFd> held_;
    Ports taken_;
};

}  // namespace stage

// Holds the ports of DataPortRange, UDP and TCP, so that no other program can take one that a
// stage needs, and lends each to one stage at a time.
//
// A port that is bound on any address of a node can't be a group's on that node. An
// unprivileged user could bind the whole range and so fail every job of several nodes.
// Therefore the daemon binds the ports from its start on, and opens its stages' sockets beside
// its own (transport/udp/sockets.h, transport/tcp/tcp_socket.h). Ports that another program
// already uses are left to it; groups get other ports. The ports of pushes without daemons are
// left to these (config/engine_ports.h): they, and what can't be held, are open to all.
//
// A worker receives from its peers, and accepts their connections, on the port that was lent to
// its stage. How many ports one user's stages may have is decided with their places
// (daemon/planning/stage_places.h).
#pragma once

#include "stager/config/config.h"
#include "transport/os/unique_fd.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace stage {

/// A held port that is one stage's until this is destroyed.
class LentPort {
  public:
    using Lent = std::set<std::uint16_t>;

    LentPort(std::shared_ptr<Lent> lent, std::uint16_t port)
        : lent_{std::move(lent)}, port_{port} {
        lent_->insert(port_);
    }
    LentPort(const LentPort&) = delete;
    LentPort& operator=(const LentPort&) = delete;
    ~LentPort() { lent_->erase(port_); }

    [[nodiscard]] std::uint16_t port() const { return port_; }

  private:
    std::shared_ptr<Lent> lent_;
    std::uint16_t port_;
};

class DataPorts {
  public:
    using Ports = std::set<std::uint16_t>;
    /// Consecutive ports, the first and the last.
    using Run = std::pair<std::uint16_t, std::uint16_t>;

    /// Ports that are held at most; of a longer range the rest is not.
    static constexpr std::size_t kMost = 256;

    /// Binds the ports that are not held yet, and closes those that have left the range.
    void hold(const ConfigRange<std::uint16_t>& range);

    [[nodiscard]] bool is_held(std::uint16_t port) const { return held_.contains(port); }
    /// Ports that can be lent, or are.
    [[nodiscard]] std::size_t held() const { return held_.size(); }
    /// The ports that other programs used at the last hold(): UDP, and TCP.
    [[nodiscard]] const Ports& taken() const { return taken_; }
    [[nodiscard]] const Ports& taken_tcp() const { return taken_tcp_; }
    [[nodiscard]] bool has_taken() const { return !taken_.empty() || !taken_tcp_.empty(); }

    /// A held port that no stage has, if possible one that is held for TCP, too; null if there
    /// is none.
    [[nodiscard]] std::unique_ptr<LentPort> lend();
    /// The ports of the range that are not held.
    [[nodiscard]] std::vector<Run> open_to_all(const ConfigRange<std::uint16_t>& range) const;

    /// The first of `flows` consecutive ports of the range, none of them in `excluded` or
    /// taken; held ones if possible. `draw`, any value, selects among the candidates.
    [[nodiscard]] std::optional<std::uint16_t> draw(const ConfigRange<std::uint16_t>& range,
                                                    std::size_t flows,
                                                    std::uint32_t draw,
                                                    const Ports& excluded) const;

  private:
    struct Held {
        UniqueFd udp;
        UniqueFd tcp;     ///< None if another program has it.
        UniqueFd tcp_v6;  ///< None where there is no IPv6, too.
    };

    void hold_tcp(std::uint16_t port, Held& held);

    std::map<std::uint16_t, Held> held_;
    Ports taken_;
    Ports taken_tcp_;
    std::shared_ptr<LentPort::Lent> lent_ = std::make_shared<LentPort::Lent>();
};

}  // namespace stage

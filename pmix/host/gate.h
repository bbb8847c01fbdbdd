// Admits only the job's user to the PMIx server's TCP listener.
//
// PMIx 4.2's own listener is open to every local user and breaks after one bad login (it
// releases the rank's entry once too often) or a silent connection (its handshake blocks). The
// server therefore listens in a network namespace of its own, without other processes. The gate
// is the only entrance: a listener on the node's loopback, opened before, that asks the kernel
// for the uid of each connection and relays those of the job's user. Connections of other users
// are closed, counted and logged.
#pragma once

#include "pmix/host/peer_uid.h"
#include "pmix/host/relay.h"
#include "transport/base/log.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace stage::pmix_host {

class Gate {
    struct Key {};  ///< Only open() can make one.

  public:
    /// Connections relayed at once; a worker has one.
    static constexpr std::size_t kMaxPassed = 4;

    /// Listens, and verifies that the kernel reports the right uid. Call before entering the
    /// private network namespace. `log` must outlive the gate.
    [[nodiscard]] static Result<std::unique_ptr<Gate>> open(const Logger& log);

    Gate(Key key, const Logger& log, PeerUid peers, UniqueFd listener);

    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// Relays connections of `user` from now on to `port` on the loopback of the calling
    /// thread's network namespace.
    void lead_to(std::uint16_t port, uid_t user);

    /// Appends the descriptors to poll.
    void watch(std::vector<pollfd>& watched) const;
    /// Call after poll(): accepts connections and relays bytes.
    void attend();

    [[nodiscard]] std::uint64_t refused() const { return refused_; }

  private:
    struct Inside {
        std::uint16_t port = 0;
        uid_t user = 0;
    };

    void let_in();
    void turn_away(uid_t whose);
    [[nodiscard]] Status prove();

    const Logger& log_;
    PeerUid peers_;
    UniqueFd listener_;
    std::uint16_t port_ = 0;
    std::optional<Inside> inside_;
    std::vector<std::unique_ptr<Relay>> passed_;
    std::uint64_t refused_ = 0;
};

}  // namespace stage::pmix_host

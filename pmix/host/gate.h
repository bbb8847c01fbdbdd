// Who gets through to the PMIx server?
//
// The job's user. PMIx 4.2's own listener is open to every local user and breaks at one bad
// login (it releases the rank's entry once too often) or a silent connection (its handshake
// blocks). So the server listens in a network namespace of its own, where nobody is, and this
// is the only way in: a listener on the node's loopback, opened before, that asks the kernel
// whose each connection is and passes on those of the job's user. Strangers are closed, counted
// and logged.
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
    struct Key {};  ///< Only open() has one.

  public:
    /// Connections passed on at once: a worker has one.
    static constexpr std::size_t kMaxPassed = 4;

    /// Listens, and sees that the kernel's answers are right. Before the private network is
    /// entered. `log` must outlive it.
    [[nodiscard]] static Result<std::unique_ptr<Gate>> open(const Logger& log);

    Gate(Key key, const Logger& log, PeerUid peers, UniqueFd listener);

    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// From now on `user` gets through to `port` of the loopback that this thread has.
    void lead_to(std::uint16_t port, uid_t user);

    /// Adds what is to be polled.
    void watch(std::vector<pollfd>& watched) const;
    /// After poll(): lets in, passes on.
    void attend();

    [[nodiscard]] std::uint64_t strangers() const { return strangers_; }

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
    std::uint64_t strangers_ = 0;
};

}  // namespace stage::pmix_host

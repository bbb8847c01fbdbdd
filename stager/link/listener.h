// Accepts connections at the daemon's TCP port and bounds those that are not authenticated yet.
//
// Any host can connect, and until munge has answered nothing is known about the peer. At most
// kHalfOpenMax connections are in that state. When all places are taken, one is evicted for the
// newcomer, in this order:
//   1. of an address that has kHalfOpenPerAddress of them already, only one of that address;
//   2. connections from an unprivileged source port (any user's) before those from a privileged
//      one (root's, which daemons use: link.h);
//   3. those older than kHalfOpenGrace before younger ones: a daemon sends its first bytes in
//      that time;
//   4. the least progress in the login first, of those the oldest.
// A newcomer from an unprivileged port never evicts one from a privileged port: it is closed
// instead. Failed logins are counted, and logged at most once in kRefusedLogEvery.
#pragma once

#include "stager/link/link.h"
#include "transport/base/log.h"

#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace stage {

inline constexpr std::size_t kHalfOpenMax = 128;
inline constexpr std::size_t kHalfOpenPerAddress = 32;
inline constexpr Duration kHalfOpenGrace = std::chrono::milliseconds{200};
inline constexpr Duration kRefusedLogEvery = std::chrono::seconds{10};

class Listener {
  public:
    /// Listens on every address of the node, IPv6 and IPv4 (IPv4 alone where there is no IPv6).
    /// All arguments must outlive it.
    static Result<Listener> open(std::uint16_t port,
                                 const LinkPolicy& policy,
                                 Credentials& credentials,
                                 const Logger& log);

    [[nodiscard]] int fd() const { return socket_.get(); }
    /// The port; of use if 0 was passed to open().
    [[nodiscard]] std::uint16_t port() const { return port_; }

    /// For EPOLLIN: the new connections, in state authenticating. The caller owns and drives
    /// them as any Link. Some of its earlier ones may have been closed to make room.
    [[nodiscard]] std::vector<std::unique_ptr<Link>> accept(Instant now);

    /// True if the last accept() left connections waiting, for want of a descriptor.
    [[nodiscard]] bool lacks_descriptor() const { return lacks_descriptor_; }

    /// To be called for every accepted link that has become open or closed, before it is
    /// destroyed: frees its place, and counts it as refused if it closed without having been
    /// trusted.
    void settle(const Link& link, Instant now);

    [[nodiscard]] std::uint64_t refused_total() const { return refused_total_; }
    [[nodiscard]] std::size_t half_open() const { return half_open_.size(); }

  private:
    Listener(UniqueFd socket,
             std::uint16_t port,
             const LinkPolicy& policy,
             Credentials& credentials,
             const Logger& log);
    struct HalfOpen {
        Link* link;  ///< Owned by the caller of accept().
        Instant since;
    };
    using Worth = std::tuple<bool, bool, unsigned>;

    [[nodiscard]] static Worth worth(const HalfOpen& one, Instant now);
    [[nodiscard]] bool make_place(const Address& newcomer, Instant now);
    void evict(std::vector<HalfOpen>::iterator one, Instant now);
    [[nodiscard]] bool may_try_again(int cause, Instant now);
    void count_refused(const Address& address, const std::string& why, Instant now);

    UniqueFd socket_;
    std::uint16_t port_;
    const LinkPolicy* policy_;
    Credentials* credentials_;
    const Logger* log_;
    std::vector<HalfOpen> half_open_;  ///< Oldest first.
    bool lacks_descriptor_ = false;
    std::uint64_t refused_total_ = 0;
    std::uint64_t refused_logged_ = 0;
    std::optional<Instant> logged_at_;
};

}  // namespace stage

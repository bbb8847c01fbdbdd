// Who may knock at the daemon's TCP port, and how often?
//
// Anybody can, until munge has spoken. So connections that have not proved themselves are few:
// at most kHalfOpenMax in all. When the room is full the oldest one that has said nothing yet
// makes place, else the newcomer is turned away; a real daemon greets at once and is through in
// milliseconds. Strangers are counted, and logged at most once in kStrangerLogEvery.
#pragma once

#include "stager/link/link.h"
#include "transport/base/log.h"

#include <memory>
#include <vector>

namespace stage {

inline constexpr std::size_t kHalfOpenMax = 128;
inline constexpr Duration kStrangerLogEvery = std::chrono::seconds{10};

class Listener {
  public:
    /// Listens on every address of the node, IPv6 and IPv4 (IPv4 alone where there is no IPv6).
    /// All that is handed in must outlive it.
    static Result<Listener> open(std::uint16_t port,
                                 const LinkPolicy& policy,
                                 Credentials& credentials,
                                 const Logger& log);

    [[nodiscard]] int fd() const { return socket_.get(); }
    /// The port, of use where 0 was asked for.
    [[nodiscard]] std::uint16_t port() const { return port_; }

    /// EPOLLIN: the new connections, in state authenticating. The caller owns and drives them
    /// as any Link. Making place may have closed some that it has.
    [[nodiscard]] std::vector<std::unique_ptr<Link>> accept(Instant now);

    /// To be called for every accepted link that has become open or closed, before it is
    /// destroyed: frees its place and counts it as a stranger if it closed without having been
    /// trusted.
    void settle(const Link& link, Instant now);

    [[nodiscard]] std::uint64_t strangers_total() const { return strangers_total_; }
    [[nodiscard]] std::size_t half_open() const { return half_open_.size(); }

  private:
    Listener(UniqueFd socket,
             std::uint16_t port,
             const LinkPolicy& policy,
             Credentials& credentials,
             const Logger& log);
    void make_place(Instant now);
    void evict_one(Instant now);
    [[nodiscard]] bool may_try_again(int cause, Instant now);
    void count_stranger(const Link& link, Instant now);

    UniqueFd socket_;
    std::uint16_t port_;
    const LinkPolicy* policy_;
    Credentials* credentials_;
    const Logger* log_;
    std::vector<Link*> half_open_;  ///< Oldest first. Owned by the caller of accept().
    std::uint64_t strangers_total_ = 0;
    std::uint64_t strangers_logged_ = 0;
    std::optional<Instant> logged_at_;
};

}  // namespace stage

// Makes connections to peers without waiting for TCP to repeat a lost SYN.
//
// TCP sends a SYN again after 1 s if it, or its answer, was lost. A dial that is not answered
// within 25 ms tries another connection beside the first, and others after twice the time each.
// The first that is answered counts, and the rest are closed: on a path whose RTT is longer
// than that a dial takes no longer, and costs some SYNs.
#pragma once

#include "transport/base/address.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"
#include "transport/tcp/tcp_socket.h"

#include <map>
#include <vector>

namespace stage::tcp {

/// A dial that ended.
struct Dialled {
    Rank peer;
    UniqueFd socket;  ///< Invalid: the peer refused, or cannot be reached.
};

class TcpDialler {
  public:
    /// Connects from the address `own`, any port.
    TcpDialler(const Address& own, const Shaping& shaping);

    /// Readable while poll() has something to do.
    [[nodiscard]] int descriptor() const { return events_.get(); }

    /// Begins a dial. False if not even a first attempt can be made. Requires that none to this
    /// peer is under way.
    [[nodiscard]] bool dial(Rank peer, const Address& address);
    /// Ends the dial to a peer, if there is one, without a result.
    void give_up(Rank peer) { dials_.erase(peer); }
    /// Makes the attempts that are due, and appends the dials that ended.
    void poll(std::vector<Dialled>& ended);

  private:
    struct Dial {
        Address address;
        UniqueFd timer;
        Duration wait{};  ///< Before the next attempt.
        std::vector<UniqueFd> attempts;
    };

    [[nodiscard]] bool attempt(Rank peer, Dial& dial);
    void on_timer(Rank peer, Dial& dial);

    Address own_;
    Shaping shaping_;
    UniqueFd events_;  ///< epoll: a peer's rank and the number of an attempt; 0: its timer.
    std::map<Rank, Dial> dials_;
};

}  // namespace stage::tcp

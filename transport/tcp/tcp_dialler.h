// Makes connections to peers without waiting for TCP to repeat a lost SYN.
//
// TCP sends a SYN again after 1 s if it, or its answer, was lost. A dial that is not answered
// within 25 ms, or twice the longest RTT of the connections made so far, tries another
// connection beside the first, and others after twice the time each. The first that is answered
// counts, and the rest are closed: on a path whose RTT is longer a dial takes no longer, and
// the first one costs some SYNs.
//
// There are firewalls that drop or refuse multipath TCP. So the later attempts are plain TCP,
// and so is one that follows a refusal.
#pragma once

#include "transport/base/address.h"
#include "transport/base/link_event.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"
#include "transport/tcp/tcp_socket.h"

#include <algorithm>
#include <map>
#include <vector>

namespace stage::tcp {

/// A dial that ended.
struct Dialled {
    LinkEnd to;
    UniqueFd socket;  ///< Invalid: the peer refused, or cannot be reached.
    Duration round_trip{};
};

class TcpDialler {
  public:
    /// Connects from the address `own`, any port.
    TcpDialler(const Address& own, const Shaping& shaping);

    /// Readable while poll() has something to do.
    [[nodiscard]] int descriptor() const { return events_.get(); }

    /// Begins a dial. False if not even a first attempt can be made. Requires that none with
    /// this end is under way.
    [[nodiscard]] bool dial(LinkEnd to, const Address& address);
    /// The next dials' connections have segments of at most that many bytes, if they had longer
    /// ones before.
    void narrow(std::uint16_t segment_bytes) {
        const bool is_less =
            shaping_.segment_bytes == 0 || segment_bytes < shaping_.segment_bytes;
        shaping_.segment_bytes = is_less ? segment_bytes : shaping_.segment_bytes;
    }
    /// Ends the dial, if there is one, without a result.
    void give_up(LinkEnd to) { dials_.erase(to); }
    /// Makes the attempts that are due, and appends the dials that ended.
    void poll(std::vector<Dialled>& ended);
    /// How long a dial waits for its first attempt.
    [[nodiscard]] Duration first_wait() const;
    /// A connection's RTT.
    void learn(Duration round_trip) { round_trip_ = std::max(round_trip_, round_trip); }

  private:
    struct Dial {
        Address address;
        UniqueFd timer;
        Duration wait{};  ///< Before the next attempt.
        std::vector<UniqueFd> attempts;
        std::size_t multipath = 0;  ///< The number of first attempts that use Multipath TCP.
    };

    [[nodiscard]] bool attempt(LinkEnd to, Dial& dial);
    [[nodiscard]] bool goes_on(LinkEnd to, Dial& dial, std::size_t refused);
    void on_timer(LinkEnd to, Dial& dial);

    Address own_;
    Shaping shaping_;
    Duration round_trip_{};  ///< The longest so far.
    UniqueFd events_;        ///< epoll: an end and the number of an attempt; 0: its timer.
    std::map<LinkEnd, Dial> dials_;
};

}  // namespace stage::tcp

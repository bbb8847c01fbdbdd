// Sends and receives a session's packets by hops over UDP, or by TCP where UDP does not pass.
//
// A connection is begun both ways at once (hop_dial.h). A hop over which nothing is heard any
// more ends as a connection does, and the next one there is begun by TCP alone, so that UDP
// which is blocked or throttled once the hop stands is left, too. Everything else is as with
// TCP (tcp_driver.h): a peer that connects here is known by the first packet that it proves to
// have sealed, and comes from the address of its card.
#pragma once

#include "transport/base/address.h"
#include "transport/fabric/driver.h"
#include "transport/hop/hop_dial.h"
#include "transport/hop/hop_link.h"
#include "transport/hop/hop_numbers.h"
#include "transport/hop/hop_socket.h"
#include "transport/os/unique_fd.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace stage::hop {

struct HopEndpoints {
    UniqueFd socket;                 ///< UDP, bound to this member's address.
    std::unique_ptr<Driver> tcp;     ///< Reaches the same members.
    std::vector<Address> members{};  ///< By rank: the address of the member's UDP socket.
    Rank own;
    std::uint64_t rate_max = 0;  ///< Bytes per second for each connection; 0: no limit.
    std::string data_ports{};    ///< For messages.
};

class HopDriver final : public Driver {
  public:
    explicit HopDriver(HopEndpoints endpoints);
    ~HopDriver() override;

    Status receive(std::vector<ReceivedPacket>& packets, Readable readable) override;
    Result<Sent> send(const Train& train) override;
    [[nodiscard]] bool prove(std::uint32_t connection, std::optional<LinkEnd> sender) override;
    void connect(LinkEnd to) override;
    void take_links(std::vector<LinkEvent>& events) override;
    void hang_up(LinkEnd to) override;
    [[nodiscard]] Error no_connection(Rank peer, Duration tried) const override;
    [[nodiscard]] bool prepare_wait(Readable awaited) override {
        return endpoints_.tcp->prepare_wait(awaited);
    }
    [[nodiscard]] std::vector<int> descriptors() const override;
    [[nodiscard]] const DriverCounters& counters() const override;
    /// "hop" once a connection went by UDP.
    [[nodiscard]] std::string name() const override { return is_used_ ? "hop" : "tcp"; }

  private:
    struct Hop {
        HopLink link;
        SocketAddress peer;
        Address address;
        std::optional<LinkEnd> to{};  ///< Empty: not proved yet.
        std::uint32_t unproved = 0;
        Instant begun_at{};
        bool must_report_ready = false;
        std::optional<HopDial> dial{};  ///< Until it is known which way it goes.
    };
    using Hops = std::map<std::uint64_t, Hop>;  ///< By this end's number.

    [[nodiscard]] bool is_other_members(const Address& address) const;
    void hear(Instant now, const Address& from, Bytes datagram);
    void welcome(const Address& from, Bytes datagram);
    void on_welcome(Instant now, const Address& from, Bytes datagram);
    void on_confirm(Instant now, const Address& from, Bytes datagram);
    void make_room(const Address& from);
    void hear_tcp(Instant now);
    void greet(Instant now, Hop& hop);
    void go_by_tcp(Hops::iterator at);
    void look(Instant now, std::vector<ReceivedPacket>& packets);
    void deliver(Hop& hop, std::vector<ReceivedPacket>& packets);
    void flush(Instant now, Hop& hop);
    void report_ready(Hop& hop);
    void set_timer(Instant now);
    void end(Hops::iterator at, bool is_reported);
    [[nodiscard]] Hops::iterator found(LinkEnd to);
    void forget_events(LinkEnd of);
    [[nodiscard]] std::uint32_t stamp(Instant now) const;

    HopEndpoints endpoints_;
    HopSocket socket_;
    UniqueFd timer_;
    ListenerNumbers numbers_;
    Hops hops_;
    std::map<LinkEnd, std::uint64_t> by_end_;
    std::uint32_t next_unproved_ = 0;
    std::vector<LinkEvent> changes_;
    std::vector<std::vector<std::byte>> delivered_;  ///< In this turn.
    Instant begun_at_{};
    std::optional<Instant> due_;  ///< The next turn.
    /// Over the last hop there nothing was heard any more: what is begun next goes by TCP.
    std::set<LinkEnd> silent_;
    bool is_used_ = false;
    DriverCounters own_counters_;
    mutable DriverCounters counters_;  ///< Both ways', when they were asked for.
};

}  // namespace stage::hop

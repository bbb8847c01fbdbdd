// Sends and receives a session's packets over TCP: reliable unicast, no multicast.
//
// A peer that connects here is known by the first packet that it proves to have sealed
// (Driver::prove); until then the connection carries nothing else, and of such connections
// there are few. A member connects from the address of its card (begin_connection()): a
// connection from any other address is closed at once. A peer may have a connection for each
// flow; a second one for the same replaces the first. What a connection is still to send is
// kept until it is taken, and then reported.
#pragma once

#include "transport/base/address.h"
#include "transport/fabric/driver.h"
#include "transport/os/unique_fd.h"
#include "transport/tcp/path_probe.h"
#include "transport/tcp/tcp_connection.h"
#include "transport/tcp/tcp_dialler.h"
#include "transport/tcp/tcp_socket.h"

#include <map>
#include <memory>
#include <vector>

namespace stage::tcp {

struct TcpEndpoints {
    UniqueFd listener;               ///< See open_listener().
    std::vector<Address> members{};  ///< By rank: the address on which the member listens.
    Rank own;
    Shaping shaping{};                 ///< Multipath only if the listener is.
    std::size_t packet_bytes_max = 0;  ///< Bytes of the largest whole packet.
    std::string data_ports{};          ///< "6830-6893": those of all members, for messages.
};

class TcpDriver final : public Driver {
  public:
    explicit TcpDriver(TcpEndpoints endpoints);

    Status receive(std::vector<ReceivedPacket>& packets, Readable readable) override;
    Result<Sent> send(const Train& train) override;
    [[nodiscard]] bool prove(std::uint32_t connection, std::optional<LinkEnd> sender) override;
    void connect(LinkEnd to) override;
    void take_links(std::vector<LinkEvent>& events) override;
    void hang_up(LinkEnd to) override;
    [[nodiscard]] Error no_connection(Rank peer, Duration tried) const override;
    [[nodiscard]] std::vector<int> descriptors() const override { return {events_.get()}; }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "tcp"; }

  private:
    struct Link {
        TcpConnection connection;
        std::optional<LinkEnd> to;  ///< Empty: not proved yet.
        bool must_report_ready = false;
        bool awaits_write = false;
        PathProbe probe{};
        std::optional<Instant> opened_at{};  ///< If this member made it.
        IpAddress from{};                    ///< If the peer made it.
        Duration round_trip{};
    };
    using Links = std::map<std::uint32_t, Link>;

    void look_again();
    [[nodiscard]] LinkEvent::Kind end_of(const Link& link);
    void accept_some();
    [[nodiscard]] bool is_other_members(const IpAddress& address) const;
    void make_room();
    void set_listening(bool listens);
    [[nodiscard]] bool begin_waiting(int descriptor, std::uint32_t id, bool writes);
    void dialled();
    void serve(std::uint32_t id, std::uint32_t events, std::vector<ReceivedPacket>& packets);
    void await(std::uint32_t id, Link& link);
    void end(std::uint32_t id);
    void report(LinkEnd to, LinkEvent::Kind kind, Duration round_trip = {});

    TcpEndpoints endpoints_;
    std::vector<IpAddress> others_;  ///< The addresses of the other members, sorted.
    TcpDialler dialler_;
    UniqueFd events_;  ///< epoll: the listener, the dialler, and connections by their number.
    Links links_;
    std::map<LinkEnd, std::uint32_t> by_end_;
    std::uint32_t next_id_;
    bool listens_ = true;  ///< False while there is no descriptor for another connection.
    Instant listens_at_{};
    std::vector<LinkEvent> changes_;
    std::vector<TcpConnection> ended_;  ///< Connections that ended in this turn.
    DriverCounters counters_;
};

}  // namespace stage::tcp

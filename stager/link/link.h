// Connects two daemons by an authenticated and encrypted TCP connection.
//
// There is one nonblocking connection per stage and edge of its control tree. Both ends prove
// by munge or a key file that they are root (or SlurmUser=) on a node of this cluster, with a
// secret that only root can read and with the other's fresh nonce, so that replays are useless.
// Both secrets yield two AES-128-GCM keys, one per direction, that seal every frame
// (handshake.h, frame_seal.h: the parts without I/O; docs/WIRING.md, 3: the bytes).
//
// A Link is driven by the daemon's epoll loop and never blocks:
//
//     auto link = Link::connect(policy, munge, {...}, now);        // or Listener::accept()
//     link->send(setup);                                          // allowed before it is open
//     epoll (level-triggered): EPOLLIN always, EPOLLOUT while wants_write(); on_time at
//     deadline() after any call, and after munge.on_readable(): while (auto frame =
//     link->receive()) ...; if (link->state() == Link::State::closed) ... link->error()
//
// Munge's answers change a Link outside of its own calls: set_wake() notifies its owner.
#pragma once

#include "stager/link/credentials.h"
#include "stager/link/frame_seal.h"
#include "stager/link/handshake.h"
#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// Settings of all links of a daemon. Must outlive them.
struct LinkPolicy {
    /// This node's NodeName. May be empty (not known yet): then an acceptor takes the name by
    /// which it is called, and the link's user compares called_name() later.
    std::string node_name;
    std::string cluster_name;  ///< ClusterName; empty: no other cluster's daemons.
    std::vector<uid_t> trusted_uids{0};
    VersionRange versions = own_versions();
    Duration connect_timeout =
        std::chrono::seconds{5};  ///< The connector's limit, handshake included.
    Duration accept_timeout = std::chrono::seconds{5};  ///< Limits the acceptor's handshake.
    Duration silence_max =
        std::chrono::seconds{10};              ///< For unacknowledged bytes, silent peers.
    std::size_t queue_bytes_max = 16U << 20U;  ///< Frames that the kernel has not taken.
};

class Link {
    /// Only connect() and accept() make links.
    struct Maker {
        explicit Maker() = default;
    };

  public:
    enum class State : unsigned char { connecting, authenticating, open, closed };

    /// Begins to connect to node `peer_name` at `address`. Never fails at once: a failure is
    /// the closed link's error, which names node and address. `policy` and `credentials`
    /// must outlive the link.
    static std::unique_ptr<Link> connect(const LinkPolicy& policy,
                                         Credentials& credentials,
                                         std::string peer_name,
                                         const Address& address,
                                         Instant now);
    /// Makes the acceptor's end, for a socket just accepted. Listener bounds the number of
    /// these links.
    static std::unique_ptr<Link> accept(const LinkPolicy& policy,
                                        Credentials& credentials,
                                        UniqueFd socket,
                                        const Address& address,
                                        Instant now);
    Link(Maker maker,
         const LinkPolicy& policy,
         Credentials& credentials,
         Handshake::Start start,
         const Address& address);
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link();

    [[nodiscard]] State state() const { return state_; }
    /// The socket; -1 once closed (closing has removed it from epoll).
    [[nodiscard]] int fd() const { return socket_.get(); }
    /// Whether epoll must watch for EPOLLOUT, too.
    [[nodiscard]] bool wants_write() const;
    /// When on_time() must be called.
    [[nodiscard]] std::optional<Instant> deadline() const { return deadline_; }

    /// For EPOLLIN, EPOLLHUP, EPOLLERR. Reads what is available, up to one frame's length
    /// beyond what has not been received yet; level-triggered polling reports the rest again.
    void on_readable(Instant now);
    void on_writable(Instant now);
    void on_time(Instant now);

    /// Queues one frame of at least one byte. Before the link is open it waits for the key.
    /// Fails if the link is closed, the frame is longer than kFrameMax, or queue_bytes_max
    /// would be exceeded because the peer does not read.
    Status send(Bytes frame);
    /// The next frame of the peer, whole and authentic. Frames that arrived before the end can
    /// still be received from a closed link.
    [[nodiscard]] std::optional<std::vector<std::byte>> receive();

    /// Sends what is queued, then closes without an error; gives up after silence_max.
    void finish(Instant now);
    /// Closes at once. An earlier error stays.
    void close(Error error);

    /// Closes the link but keeps the connection, and returns its nonblocking socket. Returns
    /// none if the link isn't open, or if something is not sent or not received yet.
    [[nodiscard]] UniqueFd release();

    /// Closes the link to make room for others, and wakes its owner.
    void evict();

    /// Why it is closed; none after finish(). A message with the address in it, ready for
    /// .within("node " + peer_name()): "stagecastd does not answer at 10.77.1.4:6829
    /// (Connection refused); is it running there?". Clock skew is reported with the names of
    /// both nodes.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

    /// The node at the other end: at a connector the one it was given; at an acceptor the
    /// peer's claim, which is proved once the link is open.
    [[nodiscard]] const std::string& peer_name() const { return handshake_.peer_name(); }
    /// The name by which the connector knows the acceptor.
    [[nodiscard]] const std::string& called_name() const {
        return is_connector() ? handshake_.peer_name() : handshake_.own_name();
    }
    /// This node's name on the link.
    [[nodiscard]] const std::string& own_name() const { return handshake_.own_name(); }
    [[nodiscard]] const Address& address() const { return address_; }
    [[nodiscard]] bool is_connector() const { return handshake_.role() == LinkRole::connector; }
    /// The common version, once open.
    [[nodiscard]] std::uint16_t version() const { return handshake_.version(); }
    /// Whether the peer has sent a credential that munge on this node accepted as root's.
    [[nodiscard]] bool is_trusted() const { return trusted_; }
    /// Whether it was closed without that, and not because this node's munge was silent.
    [[nodiscard]] bool was_unauthorised() const;
    /// The progress of an unproven peer: 0 no message, 1 greeting received, 2 munge is asked.
    [[nodiscard]] unsigned progress() const;

    /// `wake` is called when munge's answer (or evict()) has changed this link's state,
    /// wants_write() or frames. It must not destroy the link.
    void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  private:
    void start_connecting(Instant now);
    void check_connected();
    void read_some();
    [[nodiscard]] std::size_t room_to_read();
    [[nodiscard]] bool read_once(std::size_t room);
    void on_end_of_stream();
    void take_messages();
    [[nodiscard]] bool take_message(Bytes rest);
    [[nodiscard]] bool take_greeting(Bytes rest);
    [[nodiscard]] bool take_frame(Bytes rest);
    void follow(Result<Handshake::Step> step);
    void ask_to_seal(Bytes payload);
    void ask_to_open(std::string credential);
    void on_munge_silent(const Error& error);
    void become_sealed(const LinkKeys& keys);
    void become_open();
    void refuse(const Error& error);
    void write_some();
    void say_end();
    [[nodiscard]] bool write_once();
    void not_reached(int cause);
    /// `cause`: an errno; none if the peer has closed the connection.
    void lost(const std::string& why, int cause = 0);
    [[nodiscard]] static std::string words_of(int cause);
    [[nodiscard]] std::size_t queued() const;
    [[nodiscard]] std::string late_sentence() const;
    void wake() const;

    const LinkPolicy& policy_;
    Credentials& credentials_;
    Handshake handshake_;
    Address address_;
    UniqueFd socket_;
    State state_ = State::connecting;
    std::optional<Error> error_;
    Instant seen_;  ///< The loop's time at its last call.
    std::optional<Instant> deadline_;
    Credentials::Ticket ticket_ = 0;  ///< The pending question to munge.
    bool trusted_ = false;
    bool munge_silent_ = false;
    bool finishing_ = false;
    bool said_end_ = false;  ///< Nothing more is sent; the other end closes.
    std::function<void()> wake_;

    std::vector<std::byte> in_;  ///< Bytes read; those from in_taken_ on are not decoded yet.
    std::size_t in_taken_ = 0;
    std::vector<std::byte> out_;  ///< Greeting messages or sealed frames, from out_sent_ on.
    std::size_t out_sent_ = 0;
    std::deque<std::vector<std::byte>> unsealed_;  ///< Frames that wait for the key.
    std::size_t unsealed_bytes_ = 0;
    std::deque<std::vector<std::byte>> received_;
    std::size_t received_bytes_ = 0;
    std::optional<FrameSealer> sealer_;
    std::optional<FrameOpener> opener_;
};

}  // namespace stage

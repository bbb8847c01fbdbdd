// How do two daemons talk so that nobody else can speak or listen?
//
// Over one nonblocking TCP connection per stage and edge of its tree. Both ends prove by munge
// that they are root on a node of this cluster (or SlurmUser, if so configured), each with a
// secret that only root can read and with the other's fresh nonce, so that replays are useless.
// From both secrets come two AES-128-GCM keys, one per direction, that seal every frame
// (handshake.h, frame_seal.h: the pure parts; docs/WIRING.md, 3: the bytes).
//
// A Link is driven by the daemon's epoll loop and never blocks:
//
//     auto link = Link::connect(policy, munge, {...}, now);        // or Listener::accept()
//     link->send(setup);                                          // may be said before it is
//     open epoll (level-triggered): EPOLLIN always, EPOLLOUT while wants_write(); on_time at
//     deadline() after any call, and after munge.on_readable(): while (auto frame =
//     link->receive()) ...; if (link->state() == Link::State::closed) ... link->error()
//
// Answers of munge change a Link from outside: set_wake() tells which one to look at again.
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

/// Source ports from here on are any user's; those below are root's. Connectors use one of
/// root's where they may, and Listener keeps such connections longest. It is no proof of
/// anything.
inline constexpr std::uint16_t kUnprivilegedPorts = 1024;

/// What holds for all links of a daemon. Must outlive them.
struct LinkPolicy {
    /// This node's NodeName. May be empty (not known yet): then an acceptor takes the name that
    /// it is called by, and whoever uses the link compares called_name() later.
    std::string node_name;
    std::vector<uid_t> trusted_uids{0};
    VersionRange versions{kLinkVersionMin, kLinkVersionMax};
    Duration connect_timeout =
        std::chrono::seconds{5};  ///< Of the connector, handshake included.
    Duration accept_timeout = std::chrono::seconds{5};  ///< Of the acceptor's handshake.
    Duration silence_max = std::chrono::seconds{10};    ///< Unacknowledged bytes, dead peer.
    std::size_t queue_bytes_max = 16U << 20U;  ///< Frames of ours not yet in the kernel.
};

class Link {
    /// Only connect() and accept() make links.
    struct Maker {
        explicit Maker() = default;
    };

  public:
    enum class State : unsigned char { connecting, authenticating, open, closed };

    /// Begins to connect to node `peer_name` at `address`. Never fails at once: what is wrong
    /// is the closed link's error, always naming node and address. `policy` and `credentials`
    /// must outlive the link.
    static std::unique_ptr<Link> connect(const LinkPolicy& policy,
                                         Credentials& credentials,
                                         std::string peer_name,
                                         const Address& address,
                                         Instant now);
    /// The other end of it, for a socket just accepted. See Listener, which bounds their
    /// number.
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
    /// The socket; -1 once closed (closing took it out of epoll).
    [[nodiscard]] int fd() const { return socket_.get(); }
    /// Ask epoll for EPOLLOUT too.
    [[nodiscard]] bool wants_write() const;
    /// When on_time() has something to do.
    [[nodiscard]] std::optional<Instant> deadline() const { return deadline_; }

    /// EPOLLIN, EPOLLHUP, EPOLLERR. Reads what is there, up to one frame's length over what has
    /// not been received yet; level-triggered polling comes again for the rest.
    void on_readable(Instant now);
    void on_writable(Instant now);
    void on_time(Instant now);

    /// Queues one frame of at least a byte. Before the link is open it waits for the key. Fails
    /// when closed, beyond kFrameMax bytes, or when queue_bytes_max would be exceeded: the peer
    /// does not read.
    Status send(Bytes frame);
    /// The next frame of the peer, whole and authentic. Those that came before the end can
    /// still be received from a closed link.
    [[nodiscard]] std::optional<std::vector<std::byte>> receive();

    /// Sends what is queued, then closes without an error; gives up after silence_max.
    void finish(Instant now);
    /// Closes at once. The first error stays.
    void close(Error error);

    /// The connection goes on without this link, which is closed then: the socket,
    /// nonblocking. None if it isn't open, or if something is not sent or not received yet.
    [[nodiscard]] UniqueFd release();

    /// Closes to make place for others, and wakes its owner.
    void evict();

    /// Why it is closed; none if finish()ed by us. A sentence with the address in it, ready for
    /// .within("node " + peer_name()): "stagecastd does not answer at 10.77.1.4:6829
    /// (Connection refused); is it running there?". Clocks that differ are told with the names
    /// of both nodes.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

    /// The node at the other end: as we were told (connector), or as it has proved once open
    /// (acceptor; what it claims before).
    [[nodiscard]] const std::string& peer_name() const { return handshake_.peer_name(); }
    /// The name by which the connector knows the acceptor.
    [[nodiscard]] const std::string& called_name() const {
        return is_connector() ? handshake_.peer_name() : handshake_.own_name();
    }
    [[nodiscard]] const Address& address() const { return address_; }
    [[nodiscard]] bool is_connector() const { return handshake_.role() == LinkRole::connector; }
    /// What both speak, once open.
    [[nodiscard]] std::uint16_t version() const { return handshake_.version(); }
    /// The peer has shown a credential that munge on this node took for root's.
    [[nodiscard]] bool is_trusted() const { return trusted_; }
    /// Closed without it, and not because our own munge was silent.
    [[nodiscard]] bool was_stranger() const;
    /// How far an unproven peer has come: 0 nothing said, 1 greeted, 2 munge is being asked.
    [[nodiscard]] unsigned progress() const;

    /// `wake` is called when munge's answer (or evict()) has changed this link's state,
    /// wants_write() or frames. It must not destroy the link.
    void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  private:
    void start_connecting(Instant now);
    void check_connected();
    void prepare_socket();
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
    [[nodiscard]] bool write_once();
    void lost(std::string_view why);
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
    Instant seen_;  ///< The loop's clock at its last call.
    std::optional<Instant> deadline_;
    Credentials::Ticket ticket_ = 0;  ///< What munge is being asked for us.
    bool trusted_ = false;
    bool munge_silent_ = false;
    bool finishing_ = false;
    bool said_end_ = false;  ///< Our direction of the stream is shut down.
    std::function<void()> wake_;

    std::vector<std::byte> in_;  ///< Read, from in_taken_ on not yet understood.
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

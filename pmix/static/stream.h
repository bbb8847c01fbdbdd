// How do whole messages cross a TCP connection that must never be waited for?
//
// Each with its 32-bit length in front, on a socket that does not block: what has not arrived
// is held, at most one message of a stated length; what has not left stays until there is room.
#pragma once

#include "transport/base/ip_address.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <optional>
#include <vector>

namespace stage {

/// Listens on `address`. Fails with a sentence naming it and what can be done.
[[nodiscard]] Result<UniqueFd> listen_tcp(const IpAddress& address, std::uint16_t port);

struct Visitor {
    UniqueFd socket;  ///< Does not block.
    IpAddress from;
};
/// The next that waits, or nothing.
[[nodiscard]] std::optional<Visitor> accept_tcp(const UniqueFd& listener);

/// Begins a connection: writable once it stands or has failed (connect_outcome()).
[[nodiscard]] Result<UniqueFd> begin_connect(const IpAddress& address, std::uint16_t port);
[[nodiscard]] Status connect_outcome(const UniqueFd& socket);

class MessageStream {
  public:
    /// `limit`: the longest message that is taken.
    MessageStream(UniqueFd socket, std::size_t limit)
        : socket_{std::move(socket)}, limit_{limit} {}

    [[nodiscard]] int fd() const { return socket_.get(); }

    /// Reads what is there, but no further than a message's end. False: the other side has
    /// closed, broken off or sent an impossible length.
    [[nodiscard]] bool read();
    /// The whole message that has arrived; it stays until taken.
    [[nodiscard]] std::optional<std::vector<std::byte>> take();

    /// Queues a message with its length. `rest` follows `message` as a part of it.
    void say(Bytes message, Bytes rest = {});
    [[nodiscard]] bool has_unsent() const { return sent_ < unsent_.size(); }
    /// Writes what fits. False: the connection is broken.
    [[nodiscard]] bool write();

  private:
    [[nodiscard]] std::optional<std::size_t> announced() const;

    UniqueFd socket_;
    std::size_t limit_;
    std::vector<std::byte> held_;  ///< Length and message, as far as they have come.
    std::vector<std::byte> unsent_;
    std::size_t sent_ = 0;
};

}  // namespace stage

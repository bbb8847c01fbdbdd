// Sends and receives length-prefixed messages on a non-blocking TCP connection.
//
// Each message follows its 32-bit length. A partially received message is buffered, at most
// one, up to a given length; unsent bytes are queued until the socket accepts them.
#pragma once

#include "transport/base/ip_address.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <optional>
#include <vector>

namespace stage {

/// Listens on `address`. An error names it and the remedy.
[[nodiscard]] Result<UniqueFd> listen_tcp(const IpAddress& address, std::uint16_t port);

struct Visitor {
    UniqueFd socket;  ///< Non-blocking.
    IpAddress from;
};
/// Accepts the next pending connection, if any.
[[nodiscard]] std::optional<Visitor> accept_tcp(const UniqueFd& listener);

/// Starts a connection. The socket becomes writable when it is established or has failed
/// (connect_outcome()).
[[nodiscard]] Result<UniqueFd> begin_connect(const IpAddress& address, std::uint16_t port);
[[nodiscard]] Status connect_outcome(const UniqueFd& socket);

class MessageStream {
  public:
    /// `limit`: the longest accepted message, bytes.
    MessageStream(UniqueFd socket, std::size_t limit)
        : socket_{std::move(socket)}, limit_{limit} {}

    [[nodiscard]] int fd() const { return socket_.get(); }

    /// Reads available bytes up to the end of a message. False: the peer has closed or reset
    /// the connection or sent an impossible length.
    [[nodiscard]] bool read();
    /// Returns the complete message, if there is one, and removes it.
    [[nodiscard]] std::optional<std::vector<std::byte>> take();

    /// Queues a message with its length. `rest` is appended to `message`.
    void say(Bytes message, Bytes rest = {});
    [[nodiscard]] bool has_unsent() const { return sent_ < unsent_.size(); }
    /// Writes what the socket accepts. False: the connection is broken.
    [[nodiscard]] bool write();

  private:
    [[nodiscard]] std::optional<std::size_t> announced() const;

    UniqueFd socket_;
    std::size_t limit_;
    std::vector<std::byte> held_;  ///< Received bytes of a length and its message.
    std::vector<std::byte> unsent_;
    std::size_t sent_ = 0;
};

}  // namespace stage

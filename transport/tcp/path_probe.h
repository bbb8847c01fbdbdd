// Finds a path that drops long packets without a word, as switches do with jumbo frames.
//
// TCP does not: it repeats a long segment until the connection ends. Therefore what an accepted
// connection carries first is a *probe*, filling of the length of a segment. A connection that
// repeats it in vain is to be reset, and a member whose connection was reset before it received
// a byte makes the next ones with shorter segments. The sender judges, because only its kernel
// knows that a segment was repeated: the other end cannot tell such a path from a late sender.
#pragma once

#include "transport/base/units.h"
#include "transport/tcp/tcp_connection.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace stage::tcp {

class PathProbe {
  public:
    /// Sends the probe, before anything else is sent. No probe where segments are short already
    /// or are a loopback's, longer than a packet.
    void begin(TcpConnection& connection, std::size_t packet_bytes_max, Instant now);
    /// Looks what became of the probe, when it is time to. True: the path drops it.
    [[nodiscard]] bool look(const TcpConnection& connection, Instant now);

  private:
    std::optional<Instant> look_at_;  ///< Empty: no probe is under way.
};

/// The length of segments with which to try a path again whose last connection has ended;
/// nothing if it ended for another reason than its peer's probe, or if they were short already.
/// `opened_at`: when this member made the connection; empty if its peer did.
[[nodiscard]] std::optional<std::uint16_t> shorter_segment(const TcpConnection& connection,
                                                           std::size_t packet_bytes_max,
                                                           std::optional<Instant> opened_at,
                                                           Instant now);

}  // namespace stage::tcp

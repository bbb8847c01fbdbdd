#include "transport/tcp/path_probe.h"

#include "transport/tcp/tcp_socket.h"

#include <array>
#include <chrono>
#include <vector>

namespace stage::tcp {
namespace {

/// From a probe to the first look, in which time TCP has repeated it several times; and to each
/// further one.
constexpr Duration kFirstLook = std::chrono::milliseconds{500};
constexpr Duration kLookAgain = std::chrono::milliseconds{100};
/// Segments for a path that drops longer ones: of Ethernet without jumbo frames, and of the
/// least MTU of IPv6.
constexpr std::uint16_t kEthernetSegment = 1440;
constexpr std::uint32_t kEthernetSegmentMax = 1460;
constexpr std::uint16_t kLeastSegment = 1220;

/// 0: there is none.
std::uint32_t probe_bytes(const TcpConnection& connection, std::size_t packet_bytes_max) {
    const std::uint32_t segment = segment_bytes_of(connection.descriptor());
    return segment <= kLeastSegment || segment > packet_bytes_max ? 0 : segment;
}

}  // namespace

void PathProbe::begin(TcpConnection& connection, std::size_t packet_bytes_max, Instant now) {
    const std::uint32_t segment = probe_bytes(connection, packet_bytes_max);
    if (segment == 0) {
        return;
    }
    const std::vector<std::byte> filling(segment - TcpConnection::kFrameHeaderBytes);
    const std::array<Bytes, 1> pieces{filling};
    Train train;
    train.pieces = pieces;
    train.bytes = filling.size();
    static_cast<void>(connection.send(train));
    look_at_ = now + kFirstLook;
}

bool PathProbe::look(const TcpConnection& connection, Instant now) {
    if (!look_at_ || now < *look_at_) {
        return false;
    }
    const FirstSent probe = first_sent(connection.descriptor());
    look_at_ = now + kLookAgain;
    if (probe == FirstSent::acknowledged) {
        look_at_.reset();
    }
    return probe == FirstSent::repeated_in_vain;
}

std::optional<std::uint16_t> shorter_segment(const TcpConnection& connection,
                                             std::size_t packet_bytes_max,
                                             std::optional<Instant> opened_at,
                                             Instant now) {
    if (!opened_at || now < *opened_at + kFirstLook || !connection.was_reset() ||
        connection.is_heard()) {
        return std::nullopt;
    }
    const std::uint32_t segment = probe_bytes(connection, packet_bytes_max);
    if (segment == 0) {
        return std::nullopt;
    }
    return segment > kEthernetSegmentMax ? kEthernetSegment : kLeastSegment;
}

}  // namespace stage::tcp

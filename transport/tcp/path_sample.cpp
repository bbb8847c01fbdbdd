#include "transport/tcp/send_pace.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace stage::tcp {

std::optional<PathSample> sample_path(int socket, Instant now) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        length < offsetof(tcp_info, tcpi_delivered) + sizeof info.tcpi_delivered) {
        return std::nullopt;
    }
    return PathSample{.at = now,
                      .delivered_bytes = std::uint64_t{info.tcpi_delivered} * info.tcpi_snd_mss,
                      .unsent_bytes = info.tcpi_notsent_bytes,
                      .round_trip = std::chrono::microseconds{info.tcpi_rtt},
                      .least_round_trip = std::chrono::microseconds{info.tcpi_min_rtt}};
}

}  // namespace stage::tcp

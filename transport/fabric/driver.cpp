#include "transport/fabric/driver.h"

#include <poll.h>

namespace stage {

Result<std::size_t> Driver::send_together(std::span<const Train> trains) {
    std::size_t sent = 0;
    while (sent < trains.size()) {
        TRY(const auto left, send(trains[sent]));
        if (left == Sent::would_block) {
            break;
        }
        ++sent;
    }
    return sent;
}

short Driver::outlet_events() const {
    return POLLOUT;
}

Error Driver::no_connection(Rank peer, Duration /*tried*/) const {
    return {Blame::node, "no connection to rank " + std::to_string(peer.value())};
}

}  // namespace stage

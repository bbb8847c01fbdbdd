// The constants of the relay (docs/protocol/relay.md).
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/contract.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace stage::core {

struct RelayLimits {
    /// A member has requested at most this many blocks that did not arrive yet; half of its
    /// buffers if that is less. 8 MiB keep 10 Gbit/s busy over 6 ms.
    std::uint32_t requested_max = 8;
    /// The source reads this many blocks before a child requests them.
    std::uint32_t load_ahead_max = 8;
    /// With two trees, no block is read that is this far after the one for which a stripe
    /// waits, or as far as half of the buffers: if the kernel gives one of two connections more
    /// of the link, the other one's part would come last, at half of the rate, and read twice.
    std::uint32_t spread_max = 16;
    /// Descriptors that the source keeps, or one for each of its buffers.
    std::uint32_t descriptors_max = 1U << 15U;
    /// DATA that is handed to a connection before it reports that it can take more.
    std::uint32_t send_bytes_max = 128U << 10U;
    /// A connection carries a packet at least this often, in each direction.
    Duration pulse = std::chrono::milliseconds{250};
    /// A PULSE goes on to the parent at once, but not so soon after the one before. Without
    /// that, what the end of a long chain gained would reach the source many seconds later.
    Duration pulse_min = std::chrono::milliseconds{20};
    /// A member whose PULSE is later than this was itself away: stopped, or its machine was.
    Duration away = std::chrono::seconds{1};
    /// A parent that was not heard for this long, and `round_trips` RTTs, is left.
    Duration silence = std::chrono::seconds{2};
    /// A connection needs one RTT, READY and its answer a second one, and a segment that was
    /// lost one or two more.
    int round_trips = 4;
    /// After every ancestor refused a connection the member waits this long; the wait doubles
    Duration retry_first = std::chrono::milliseconds{20};
    /// up to this.
    Duration retry_max = std::chrono::milliseconds{500};
    /// A DONE that does not complete its part of the tree waits this long for others.
    Duration done_gather = std::chrono::milliseconds{100};
    /// How long a released member waits for its children's confirmations, and a failed one for
    /// the RELEASE that answers its LEAVE; and `round_trips` RTTs, a failed one for each hop to
    /// the source.
    Duration end_timeout = std::chrono::seconds{1};
    /// A member that holds the object and reaches no ancestor for this long ends.
    Duration unheard_end = std::chrono::seconds{5};
};

/// Control packets that may wait. Connections keep their order and lose none, so none is sent
/// again, and there is room for some to every member.
[[nodiscard]] inline std::size_t control_max(const CoreConfig& config) {
    return 256 + std::size_t{4} * config.members;
}

/// How long this member was away until now, for which it blames no other; 0: it was not.
/// `pulse_at`: when its next PULSE was due.
[[nodiscard]] inline Duration absence(const RelayLimits& limits,
                                      Instant now,
                                      std::optional<Instant> pulse_at) {
    return pulse_at && now > *pulse_at + limits.away ? now - *pulse_at : Duration::zero();
}

/// With short time-outs the members speak more often and wait less.
[[nodiscard]] inline RelayLimits scaled(RelayLimits limits, const CoreConfig& config) {
    limits.silence = std::min(limits.silence, config.stall_timeout / 3);
    limits.pulse = std::min(limits.pulse, limits.silence / 6);
    limits.pulse_min = std::min(limits.pulse_min, limits.pulse);
    limits.away = std::min(limits.away, limits.silence / 2);
    return limits;
}

}  // namespace stage::core

// Solicits an OFFER: a READY that echoes no OFFER.
//
// A member that starts late would otherwise wait for OFFERs that become ever rarer. After a
// solicitation the next OFFER comes at once. Most members hear an OFFER first and send no
// solicitation.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/repeater.h"
#include "transport/core/membership/ready_responder.h"
#include "transport/core/sending/control_queue.h"

namespace stage::core {

class OfferSolicitation {
  public:
    OfferSolicitation(const CoreConfig& config, const EndingLimits& limits, Prng& prng)
        : source_{config.source},
          wait_{answer_wait(config, limits, prng)},
          calls_{{.first = limits.call_first, .max = limits.offer_max}} {}

    void start(Instant now) { calls_.start(now + wait_); }
    /// The source already sends to the group, so its OFFER was missed.
    void on_stream(Instant at) { calls_.hasten(at); }
    void on_offer() { calls_.stop(); }
    void stop() { calls_.stop(); }

    void poll(Instant now, ControlQueue& out) {
        if (calls_.is_due(now)) {
            out.push_peer(wire::PacketType::ready, source_, wire::write(wire::Ready{}));
        }
    }
    [[nodiscard]] std::optional<Instant> deadline() const { return calls_.deadline(); }

  private:
    Rank source_;
    Duration wait_;  ///< Spreads the solicitations of members that start together.
    Repeater calls_;
};

}  // namespace stage::core

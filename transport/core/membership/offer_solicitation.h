// What does a member say that has heard nothing yet?
//
// That it is here: a READY that echoes no offer. Who starts late would else wait for an offer
// that comes ever more rarely; now the next one comes at once. Who hears an offer first, as
// most do, says nothing.
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
    /// The source speaks to the group already, so its offer was missed.
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
    Duration wait_;  ///< Members that start together don't call together.
    Repeater calls_;
};

}  // namespace stage::core

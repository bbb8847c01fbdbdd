#include "transport/run/make_core.h"

#include "transport/core/receiver/receiver.h"
#include "transport/core/relay/relay_receiver.h"
#include "transport/core/relay/relay_source.h"
#include "transport/core/source/sender.h"

namespace stage {

std::unique_ptr<core::Core> make_core(const core::CoreConfig& config,
                                      const core::ObjectShape& object,
                                      const Scheme& scheme,
                                      Prng& prng,
                                      const core::Limits& limits) {
    const bool is_source = config.own == config.source;
    const Relay* relay = relay_of(scheme);
    if (relay == nullptr) {
        if (is_source) {
            return std::make_unique<core::Sender>(config, object, prng, limits);
        }
        return std::make_unique<core::Receiver>(config, prng, limits);
    }
    if (is_source) {
        return std::make_unique<core::RelaySource>(config, object, *relay);
    }
    return std::make_unique<core::RelayReceiver>(config, *relay, core::RelayLimits{}, limits);
}

}  // namespace stage

#include "stager/worker/staging/setup_broadcast.h"

#include "stager/worker/broadcast/wiring.h"

namespace stage {

Status follow(const WorkerSetup& setup, BroadcastConfig& config) {
    using std::chrono::seconds;
    const Result<Address> group = Address::parse(setup.group_address, setup.group_port);
    if (!group) {
        return group.error();
    }
    config.group = *group;
    config.protection = static_cast<seal::Protection>(setup.protection);
    config.group_key = setup.group_key;
    config.session = setup.session;
    config.rate_bits_per_s = setup.rate_max;
    config.is_rate_configured = setup.rate_is_configured;
    config.may_compress = setup.may_compress;
    follow(setup.policies, config);
    config.fault_policy =
        setup.drops_failed ? core::FaultPolicy::drop : core::FaultPolicy::fail;
    config.ready_timeout = or_default(setup.connect_timeout, seconds{5});
    config.stall_timeout = or_default(setup.stall_timeout, seconds{30});
    config.linger = or_default(setup.linger, seconds{60});
    return {};
}

}  // namespace stage

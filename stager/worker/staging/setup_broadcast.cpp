#include "stager/worker/staging/setup_broadcast.h"

#include "stager/worker/broadcast/wiring.h"

namespace stage {

Status follow(const WorkerSetup& setup, BroadcastConfig& config) {
    TRY(const auto group, Address::parse(setup.group_address, setup.group_port));
    config.group = group;
    config.protection = setup.protection;
    config.group_key = setup.group_key;
    config.session = setup.session;
    config.rate_max_bytes_per_s = setup.rate_max / 8;
    config.rate_bytes_per_s = setup.rate_is_configured ? config.rate_max_bytes_per_s : 0;
    config.may_compress = setup.may_compress;
    follow(setup.policies, config);
    config.drops_failed = setup.drops_failed;
    config.ready_timeout = setup.wire_up_timeout;
    config.connect_timeout = setup.connect_timeout;
    config.data_ports = setup.data_ports;
    config.stall_timeout = setup.stall_timeout;
    config.linger = setup.linger;
    return {};
}

}  // namespace stage

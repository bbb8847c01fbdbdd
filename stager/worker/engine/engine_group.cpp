#include "stager/worker/engine/engine_group.h"

#include "pmix/given_directory.h"
#include "stager/config/config.h"
#include "transport/os/installation.h"
#include "transport/os/route.h"

#include <sys/socket.h>

namespace stage {
namespace {

/// The interfaces that the site allows for multicast, if neither the launcher's host nor the
/// caller has chosen.
Result<std::vector<RailNames>> site_interfaces() {
    const Result<Config> config = load_config(config_path());
    if (config && !config->interfaces.empty()) {
        return config->interfaces;
    }
    return Error{Blame::user, "no network interface is configured for the multicast"}.remedy(
        "give --interface=, or have the administrator set Interface= in stagecast.conf");
}

/// The interfaces that the options name, or the one that leads to the launcher's host.
Result<std::vector<Rail>> rails_of(const EngineOptions& options) {
    std::optional<IpAddress> own;
    if (options.towards) {
        own = address_towards(*options.towards);
        if (!own) {
            return Error{Blame::node,
                         "this host has no route to " + to_string(*options.towards) +
                             ", where the push was started"};
        }
    }
    const Address address{.ip = own.value_or(IpAddress{}), .port = 0};
    if (own && options.interfaces.empty()) {
        TRY(const auto interface, interface_of(address));
        return std::vector{Rail{.name = interface, .address = address}};
    }
    TRY(const auto interfaces,
        options.interfaces.empty() ? site_interfaces() : options.interfaces);
    return choose_rails(interfaces, interfaces_here(own ? address.family() : AF_INET));
}

}  // namespace

Result<EngineGroup> find_group(const EngineOptions& options, LauncherChannel& channel) {
    EngineGroup group;
    group.size = options.members;
    group.is_source = !options.source.empty();
    TRY(const auto key, channel.key(options.connect_timeout));
    group.key = key;
    if (group.size > 1) {
        TRY(auto rails, rails_of(options));
        group.rails = std::move(rails);
    }
    group.directory = std::make_unique<GivenDirectory>(channel, group.size);
    return group;
}

}  // namespace stage

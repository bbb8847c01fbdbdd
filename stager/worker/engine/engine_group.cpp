#include "stager/worker/engine/engine_group.h"

#include "pmix/key_credential.h"
#include "pmix/static/host_file.h"
#include "pmix/static/static_directory.h"
#include "pmix/wire_up_kind.h"
#include "stager/config/config.h"
#include "stager/worker/engine/group_order.h"
#include "stager/worker/engine/key_file.h"

#ifndef STAGE_WITHOUT_PMIX
#include "pmix/pmix_directory.h"
#include "transport/os/installation.h"
#endif

#include <sys/socket.h>
#include <unistd.h>

namespace stage {
namespace {

Status read_own_key(const EngineOptions& options, EngineGroup& group) {
    if (options.protection == Protection::none) {
        group.has_key = true;
        return {};
    }
    if (options.key_file.empty()) {
        return {};
    }
    TRY(auto key, read_key_file(options.key_file));
    group.key = key;
    group.has_key = true;
    return {};
}

/// The interfaces that the options name, or the one that has this member's address.
Result<std::vector<Rail>> rails_of(const EngineOptions& options, const IpAddress& own) {
    const Address address{.ip = own, .port = 0};
    if (!options.interfaces.empty()) {
        return choose_rails(options.interfaces, interfaces_here(address.family()));
    }
    TRY(const auto interface, interface_of(address));
    return std::vector{Rail{.name = interface, .address = address}};
}

Result<EngineGroup> group_among(const EngineOptions& options,
                                HostList hosts,
                                EngineGroup group) {
    group.size = hosts.size();
    group.must_wire_up = group.size > 1;
    group.address = hosts[group.own.index()];
    if (group.must_wire_up) {
        TRY(auto rails, rails_of(options, group.address));
        group.rails = std::move(rails);
        group.address = group.rails.front().address.ip;
    }
    StaticDirectory::Group members;
    members.hosts = std::move(hosts);
    members.own = group.own;
    members.port = options.port;
    if (options.protection != Protection::none) {
        members.key.assign(group.key.begin(), group.key.end());
    }
    group.directory = std::make_unique<StaticDirectory>(std::move(members));
    return group;
}

Result<EngineGroup> group_of_hosts(const EngineOptions& options, EngineGroup group) {
    TRY(auto hosts, read_host_file(options.hosts));
    if (options.rank.index() >= hosts.size() || options.root.index() >= hosts.size()) {
        return Error{Blame::user,
                     "--rank= and --root= are lines of " + options.hosts + ", which has " +
                         std::to_string(hosts.size())};
    }
    group.own = options.rank;
    return group_among(options, std::move(hosts), std::move(group));
}

Result<EngineGroup> group_of_order(const EngineOptions& options,
                                   EngineGroup group,
                                   Interrupts& interrupts) {
    TRY(auto order, take_group_order(options.group, STDIN_FILENO, interrupts));
    TRY(const auto own, rank_of_this_host(order.hosts));
    if (options.root.index() >= order.hosts.size()) {
        return Error{Blame::user, "--root= is not a rank of the group"};
    }
    group.own = own;
    group.key = order.key;
    group.has_key = true;
    return group_among(options, std::move(order.hosts), std::move(group));
}

#ifndef STAGE_WITHOUT_PMIX
/// The interfaces that the site allows for multicast; PMIx does not know addresses.
Result<std::vector<RailNames>> site_interfaces() {
    const Result<Config> config = load_config(config_path());
    if (config && !config->interfaces.empty()) {
        return config->interfaces;
    }
    return Error{Blame::user, "no network interface is configured for the multicast"}.remedy(
        "give --interface=, or have the administrator set Interface= in stagecast.conf");
}

Result<EngineGroup> group_of_pmix(const EngineOptions& options,
                                  EngineGroup group,
                                  Interrupts& interrupts) {
    auto directory = PmixDirectory::open(
        {.longest = options.timeout, .interrupt_fd = interrupts.descriptor()}, {});
    if (!directory) {
        Status reason = interrupts.check();
        return reason ? std::move(directory).error() : std::move(reason).error();
    }
    group.own = (*directory)->rank();
    group.size = (*directory)->size();
    group.must_wire_up = true;
    if (options.root.index() >= group.size) {
        return Error{Blame::user, "--root= is not a rank of the PMIx job"};
    }
    TRY(const auto interfaces,
        options.interfaces.empty() ? site_interfaces() : options.interfaces);
    TRY(auto rails, choose_rails(interfaces, interfaces_here(AF_INET)));
    group.rails = std::move(rails);
    group.address = group.rails.front().address.ip;
    group.directory = *std::move(directory);
    return group;
}
#endif

WireUpFacts facts_of(const EngineOptions& options) {
    WireUpFacts facts{.has_host_list = !options.group.empty() || !options.hosts.empty()};
#ifndef STAGE_WITHOUT_PMIX
    facts.has_pmix = PmixDirectory::is_offered();
#endif
    return facts;
}

}  // namespace

Result<EngineGroup> find_group(const EngineOptions& options, Interrupts& interrupts) {
    EngineGroup group;
    TRY(read_own_key(options, group));
    switch (choose_wire_up(facts_of(options))) {
        case WireUpKind::host_list:
            return options.group.empty()
                       ? group_of_hosts(options, std::move(group))
                       : group_of_order(options, std::move(group), interrupts);
#ifndef STAGE_WITHOUT_PMIX
        case WireUpKind::pmix:
            return group_of_pmix(options, std::move(group), interrupts);
#endif
        default:
            break;
    }
    return Error{Blame::user, "the members are unknown: there is neither --hosts= nor PMIx"}
        .remedy("give --hosts=, or start it with srun --mpi=pmix");
}

Status put_key(const EngineGroup& group, Card& own) {
    if (group.has_key || group.own.value() != 0 || group.size == 1) {
        return {};
    }
    TRY(auto credential, seal_card_key(draw_card_key()));
    own.key_credential = std::move(credential);
    return {};
}

Status take_key(const CardTable& cards, EngineGroup& group) {
    if (group.has_key) {
        return {};
    }
    TRY(const auto key, open_card_key(cards.front().key_credential));
    group.key = key;
    group.has_key = true;
    return {};
}

}  // namespace stage

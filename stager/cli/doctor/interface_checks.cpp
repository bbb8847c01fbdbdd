#include "stager/cli/doctor/interface_checks.h"

#include "stager/config/value.h"
#include "transport/fabric/rails.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

namespace stage {
namespace {

const InterfaceSeen* find(const std::vector<InterfaceSeen>& seen, const std::string& name) {
    const auto found = std::ranges::find(seen, name, &InterfaceSeen::name);
    return found == seen.end() ? nullptr : &*found;
}

Finding judge(const std::string& name,
              const InterfaceSeen* seen,
              bool is_rail,
              bool broadcasts) {
    const std::string subject = "interface " + name;
    const std::string way = broadcasts ? "broadcast" : "multicast";
    if (seen == nullptr) {
        return wrong(subject,
                     "there is none of that name; correct Interface in stagecast.conf");
    }
    if (!seen->is_up) {
        return wrong(subject, "is down; ip link set " + name + " up");
    }
    if (!(broadcasts ? seen->can_broadcast : seen->can_multicast)) {
        return wrong(subject, "can't " + way + "; name another one in Interface");
    }
    if (!seen->has_address) {
        return wrong(subject, "has no IPv4 address; give it one, or name another");
    }
    if (is_rail && !seen->has_link) {
        return wrong(subject, "has no link; see to its cable and switch");
    }
    return fine(subject, "is up and can " + way);
}

/// Checks for two rails in one subnet: the return route uses only one of them.
std::optional<Finding> judge_filter(const RailNames& rails,
                                    const std::vector<InterfaceSeen>& seen) {
    std::vector<InterfaceSeen> used;
    std::ranges::copy_if(seen, std::back_inserter(used), [&](const InterfaceSeen& one) {
        return std::ranges::find(rails, one.name) != rails.end();
    });
    for (const InterfaceSeen& own : used) {
        const auto sharing = std::ranges::count(used, own.subnet, &InterfaceSeen::subnet);
        if (sharing > 1 && own.filters_paths) {
            return wrong("rails",
                         own.name +
                             " shares its subnet with another rail, and rp_filter=1 "
                             "drops what the source sends by it; sysctl -w "
                             "net.ipv4.conf.all.rp_filter=2, or a subnet for each rail");
        }
    }
    return std::nullopt;
}

/// Reports which entry with rails is used. `fit`: the names without a complaint.
std::optional<Finding> judge_rails(const std::vector<RailNames>& entries,
                                   const std::vector<std::string>& fit,
                                   const std::vector<InterfaceSeen>& seen) {
    const auto is_fit = [&](const std::string& name) {
        return std::ranges::find(fit, name) != fit.end();
    };
    const auto used = std::ranges::find_if(
        entries, [&](const RailNames& entry) { return std::ranges::all_of(entry, is_fit); });
    const auto has_rails = [](const RailNames& entry) { return entry.size() > 1; };
    if (used == entries.end() || std::ranges::none_of(entries, has_rails)) {
        return std::nullopt;
    }
    if (std::any_of(entries.begin(), used, has_rails)) {
        return wrong("rails",
                     "only " + write_rails(*used) +
                         " is used, as one of those named before it is not fit; so are the "
                         "other nodes of this node's stagings");
    }
    if (!has_rails(*used)) {
        return std::nullopt;
    }
    const auto filtered = judge_filter(*used, seen);
    return filtered ? filtered : fine("rails", write_rails(*used) + " are used together");
}

/// /proc/sys/net/ipv4/conf/NAME/rp_filter, 0 if there is none.
int rp_filter_of(const std::string& name) {
    const UniqueFd file{::open(("/proc/sys/net/ipv4/conf/" + name + "/rp_filter").c_str(),
                               O_RDONLY | O_CLOEXEC)};
    char digit = '0';
    return file && ::read(file.get(), &digit, 1) == 1 ? digit - '0' : 0;
}

std::uint32_t in_host_order(const sockaddr* address) {
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
}

struct Named {
    std::string name;
    bool is_rail;  ///< One of several that are used together.
};

/// The name's use in the first entry that has it.
std::vector<Named> each_once(const std::vector<RailNames>& entries) {
    std::vector<Named> all;
    for (const RailNames& entry : entries) {
        for (const std::string& name : entry) {
            all.push_back({.name = name, .is_rail = entry.size() > 1});
        }
    }
    std::vector<Named> once;
    for (Named& one : all) {
        if (std::ranges::find(once, one.name, &Named::name) == once.end()) {
            once.push_back(std::move(one));
        }
    }
    return once;
}

}  // namespace

std::vector<InterfaceSeen> interfaces_seen() {
    std::vector<InterfaceSeen> seen;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) {
        return seen;
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{list, &::freeifaddrs};
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        // A label, "eth0:1", is the name of an address, not of an interface.
        std::string name{one->ifa_name};
        name.resize(std::min(name.size(), name.find(':')));
        auto found = std::ranges::find(seen, name, &InterfaceSeen::name);
        if (found == seen.end()) {
            const int filter = std::max(rp_filter_of("all"), rp_filter_of(name));
            seen.push_back({.name = name,
                            .is_up = (one->ifa_flags & IFF_UP) != 0,
                            .has_link = (one->ifa_flags & IFF_RUNNING) != 0,
                            .can_multicast = (one->ifa_flags & IFF_MULTICAST) != 0,
                            .can_broadcast = (one->ifa_flags & IFF_BROADCAST) != 0,
                            .has_address = false,
                            .filters_paths = filter == 1});
            found = seen.end() - 1;
        }
        if (!found->has_address && one->ifa_addr != nullptr && one->ifa_netmask != nullptr &&
            one->ifa_addr->sa_family == AF_INET) {
            found->has_address = true;
            found->subnet = in_host_order(one->ifa_addr) & in_host_order(one->ifa_netmask);
        }
    }
    return seen;
}

std::vector<Finding> judge_interfaces(const std::vector<RailNames>& entries,
                                      const std::vector<InterfaceSeen>& seen,
                                      bool broadcasts) {
    std::vector<Finding> findings;
    std::vector<std::string> fit;
    for (const auto& [name, is_rail] : each_once(entries)) {
        findings.push_back(judge(name, find(seen, name), is_rail, broadcasts));
        if (findings.back().health == Health::fine) {
            fit.push_back(name);
        }
    }
    if (auto rails = judge_rails(entries, fit, seen)) {
        findings.push_back(*std::move(rails));
    }
    return findings;
}

Finding judge_broadcast(const Config& config) {
    const std::string what = "each packet of a staging reaches all hosts of the LAN";
    return config.rate_max == default_config().rate_max
               ? doubtful("broadcast",
                          what +
                              ", and RateMax is not set; set it so that the slowest of their "
                              "links carries it beside other traffic")
               : fine("broadcast", what + ", as fast as RateMax allows");
}

std::vector<Finding> check_interfaces(const Config& config) {
    if (config.interfaces.empty() && config.transport != Transport::udp) {
        return {fine("interface",
                     "none is named: files go from node to node by TCP; where the network "
                     "carries multicast, set Interface= in stagecast.conf")};
    }
    if (config.interfaces.empty()) {
        return {wrong("interface",
                      "none is named, so no multicast leaves this node; set Interface= in "
                      "stagecast.conf")};
    }
    std::vector<RailNames> entries = config.interfaces;
    for (RailNames& entry : entries) {
        // As the daemon does; an interface may have alternative names.
        std::ranges::transform(entry, entry.begin(), interface_called);
    }
    auto findings = judge_interfaces(entries, interfaces_seen(), config.broadcasts());
    if (config.broadcasts() && config.transport != Transport::tcp) {
        findings.push_back(judge_broadcast(config));
    }
    return findings;
}

}  // namespace stage

#include "stager/mpi/addresses/common_network.h"

#include <algorithm>

namespace stage {
namespace {

using Hosts = std::vector<std::vector<CallAddress>>;

bool is_in_subnet(const CallAddress& one, const CallAddress& other) {
    unsigned bits = one.prefix_bits;
    if (one.ip.family != other.ip.family || other.prefix_bits != bits || bits == 0 ||
        bits >= 8 * one.ip.length()) {
        return false;
    }
    for (std::size_t i = 0; bits > 0; ++i) {
        const unsigned count = std::min(bits, 8U);
        const unsigned differ = std::to_integer<unsigned>(one.ip.octets[i]) ^
                                std::to_integer<unsigned>(other.ip.octets[i]);
        if (differ >> (8U - count) != 0) {
            return false;
        }
        bits -= count;
    }
    return true;
}

bool are_different(std::vector<IpAddress> all) {
    std::ranges::sort(all, {}, &IpAddress::octets);
    return std::ranges::adjacent_find(all) == all.end();
}

/// The first address of each host that `fits`.
template <class Fits>
std::optional<std::vector<IpAddress>> first_of_each(const Hosts& hosts, Fits fits) {
    std::vector<IpAddress> chosen;
    for (const std::vector<CallAddress>& host : hosts) {
        const auto found = std::ranges::find_if(host, fits);
        if (found == host.end()) {
            return std::nullopt;
        }
        chosen.push_back(found->ip);
    }
    return are_different(chosen) ? std::optional{std::move(chosen)} : std::nullopt;
}

}  // namespace

std::optional<std::vector<IpAddress>> common_network(const Hosts& hosts) {
    if (hosts.empty() || hosts.front().empty()) {
        return std::nullopt;
    }
    for (const CallAddress& wanted : hosts.front()) {
        const auto fits = [&wanted](const CallAddress& one) {
            return is_in_subnet(wanted, one);
        };
        if (auto chosen = first_of_each(hosts, fits)) {
            return chosen;
        }
    }
    const IpFamily family = hosts.front().front().ip.family;
    return first_of_each(hosts,
                         [family](const CallAddress& one) { return one.ip.family == family; });
}

}  // namespace stage

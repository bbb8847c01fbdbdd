#include "transport/udp/rails.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace stage::udp {
namespace {

/// Why the interface can't be a rail; nothing if it can.
std::optional<std::string> trouble_with(const std::string& name,
                                        const std::vector<InterfaceHere>& here,
                                        bool needs_link) {
    const auto found = std::ranges::find(here, name, &InterfaceHere::name);
    if (found == here.end()) {
        return "network interface '" + name + "' is absent or has no address";
    }
    if (!found->is_up) {
        return "network interface '" + name + "' is down";
    }
    if (needs_link && !found->has_link) {
        return "network interface '" + name + "' has no link";
    }
    return std::nullopt;
}

/// What is wrong with the first that can't be used.
std::optional<std::string> take_rails(const std::vector<std::string>& entry,
                                      const std::vector<InterfaceHere>& here,
                                      std::vector<Rail>& rails) {
    for (const std::string& name : entry) {
        if (auto trouble = trouble_with(name, here, entry.size() > 1)) {
            return trouble;
        }
        rails.push_back({name, std::ranges::find(here, name, &InterfaceHere::name)->address});
    }
    return std::nullopt;
}

}  // namespace

std::vector<InterfaceHere> interfaces_here(int family) {
    std::vector<InterfaceHere> here;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) {
        return here;
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{list, &::freeifaddrs};
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        const bool is_known =
            std::ranges::find(here, entry->ifa_name, &InterfaceHere::name) != here.end();
        if (is_known || entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) {
            continue;
        }
        if (const auto address = Address::from_socket(entry->ifa_addr, sizeof(sockaddr_in6))) {
            here.push_back({.name = entry->ifa_name,
                            .address = address->with_port(0),
                            .is_up = (entry->ifa_flags & IFF_UP) != 0,
                            .has_link = (entry->ifa_flags & IFF_RUNNING) != 0});
        }
    }
    return here;
}

Result<std::vector<Rail>> choose_rails(const std::vector<std::vector<std::string>>& entries,
                                       const std::vector<InterfaceHere>& here) {
    std::string said;
    for (const std::vector<std::string>& entry : entries) {
        std::vector<Rail> rails;
        if (const auto trouble = take_rails(entry, here, rails)) {
            said += (said.empty() ? "" : "; ") + *trouble;
        } else if (!entry.empty()) {
            return rails;
        }
    }
    return Error{Blame::node, said.empty() ? "no network interface is named" : said}.remedy(
        "mend it, or name another in stagecast.conf (Interface=)");
}

bool has_link(int socket, const std::string& interface) {
    ifreq request{};
    interface.copy(&request.ifr_name[0], IFNAMSIZ - 1);
    constexpr int kAlive = IFF_UP | IFF_RUNNING;
    return ::ioctl(socket, SIOCGIFFLAGS, &request) == 0 &&
           (request.ifr_flags & kAlive) == kAlive;
}

}  // namespace stage::udp

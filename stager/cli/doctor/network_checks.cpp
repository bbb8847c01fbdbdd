#include "stager/cli/doctor/network_checks.h"

#include "stager/control/client.h"
#include "transport/base/ip_address.h"
#include "transport/base/text.h"
#include "transport/os/unique_fd.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

namespace stage {
namespace {

constexpr int kLoopbackMaxMs = 1000;

std::string numeric(const sockaddr* address, socklen_t length) {
    std::array<char, NI_MAXHOST> text{};
    return ::getnameinfo(
               address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0
               ? text.data()
               : "";
}

/// The first address that `name` has, as stagecastd of the job's first node takes it.
std::string numeric_of(const std::string& name) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) {
        return {};
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{list, &::freeaddrinfo};
    return numeric(list->ai_addr, list->ai_addrlen);
}

bool is_named(const Config& config, const std::string& interface) {
    return std::ranges::any_of(config.interfaces, [&](const RailNames& entry) {
        return std::ranges::find(entry, interface) != entry.end();
    });
}

/// Whether a list as "8080,9148-9150" has that port.
bool is_in(const std::string& list, unsigned port) {
    std::istringstream items{list};
    for (std::string item; std::getline(items, item, ',');) {
        std::istringstream bounds{item};
        unsigned first = 0;
        unsigned last = 0;
        char dash = '-';
        bounds >> first;
        if (!(bounds >> dash >> last)) {
            last = first;
        }
        if (first != 0 && port >= first && port <= last) {
            return true;
        }
    }
    return false;
}

/// A socket of the loopback's, with the address that the kernel gave it.
UniqueFd bound(int type, sockaddr_in& address) {
    address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    UniqueFd socket{::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const bool is_ready = socket && ::bind(socket.get(), name, length) == 0 &&
                          (type != SOCK_STREAM || ::listen(socket.get(), 1) == 0) &&
                          ::getsockname(socket.get(), name, &length) == 0;
    return is_ready ? std::move(socket) : UniqueFd{};
}

/// Whether what is sent to a socket of the loopback's arrives there.
bool passes(int type) {
    sockaddr_in address{};
    const UniqueFd receiver = bound(type, address);
    const UniqueFd sender{::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!receiver || !sender) {
        return false;
    }
    static_cast<void>(
        ::connect(sender.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    if (type == SOCK_DGRAM) {
        static_cast<void>(::send(sender.get(), "", 1, MSG_NOSIGNAL));
    }
    pollfd arrival{.fd = receiver.get(), .events = POLLIN, .revents = 0};
    return ::poll(&arrival, 1, kLoopbackMaxMs) == 1;
}

}  // namespace

std::vector<AddressSeen> addresses_seen() {
    std::vector<AddressSeen> seen;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) {
        return seen;
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{list, &::freeifaddrs};
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        const int family = one->ifa_addr == nullptr ? AF_UNSPEC : one->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) {
            continue;
        }
        std::string name{one->ifa_name};
        name.resize(std::min(name.size(), name.find(':')));  // "eth0:1" is an address' label.
        const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        seen.push_back({.interface = name, .address = numeric(one->ifa_addr, length)});
    }
    return seen;
}

std::optional<Finding> judge_data_ports(const Config& config, const std::string& report_text) {
    const auto report = nlohmann::json::parse(report_text, nullptr, /*allow_exceptions=*/false);
    const auto ports = report.is_object() ? report.find("data_ports") : report.end();
    if (!report.is_object() || ports == report.end() || !ports->is_object()) {
        return std::nullopt;
    }
    const std::string subject = "DataPortRange";
    const std::string range = std::to_string(config.data_port_range.first) + "-" +
                              std::to_string(config.data_port_range.last);
    const auto list = [&](const char* name) {
        return joined(ports->value(name, nlohmann::json::array()),
                      ",",
                      [](const nlohmann::json& port) { return port.dump(); });
    };
    const std::string taken = list("taken");
    const std::string taken_tcp = list("taken_tcp");
    const auto held = ports->value("held", std::uint64_t{0});
    if (held < config.policies.flows) {
        return wrong(subject,
                     "stagecastd holds " + std::to_string(held) + " of the UDP ports " + range +
                         (taken.empty() ? "" : ", other programs have " + taken) +
                         " ('ss -lunp' says which); widen the range, or move it");
    }
    if (!taken.empty()) {
        return doubtful(subject,
                        "other programs have the UDP ports " + taken + " of " + range +
                            " ('ss -lunp' says which); files are staged by the others");
    }
    if (!taken_tcp.empty()) {
        return doubtful(subject,
                        "other programs have the TCP ports " + taken_tcp + " of " + range +
                            " ('ss -ltnp' says which); files are staged by the others");
    }
    return fine(subject,
                "stagecastd holds " + std::to_string(held) + " of the ports " + range +
                    "; between nodes a firewall must let them pass, too");
}

std::optional<Finding> check_data_ports(const Config& config) {
    constexpr CallTimeouts kShortTimeout{.connect = std::chrono::seconds{5},
                                         .answer = std::chrono::seconds{5}};
    const auto answer =
        ask_daemon(config.run_dir + "/stagecastd.sock", StatusRequest{}, kShortTimeout);
    const auto* const report = answer ? std::get_if<Report>(&*answer) : nullptr;
    return judge_data_ports(config, report != nullptr ? report->json : "");
}

std::optional<Finding> judge_local_ports(const Config& config,
                                         const std::string& range,
                                         const std::string& reserved) {
    const std::string subject = "local ports";
    std::istringstream bounds{range};
    unsigned first = 0;
    unsigned last = 0;
    if (!(bounds >> first >> last)) {
        return std::nullopt;
    }
    const auto is_open = [&](unsigned port) {
        return port >= first && port <= last && !is_in(reserved, port);
    };
    const auto& data = config.data_port_range;
    bool is_any_open = is_open(config.port);
    for (unsigned port = data.first; port <= data.last; ++port) {
        is_any_open = is_any_open || is_open(port);
    }
    if (!is_any_open) {
        return fine(subject, "no program's connection gets Port or DataPortRange");
    }
    return doubtful(
        subject,
        "the kernel gives programs' connections the ports " + std::to_string(first) + "-" +
            std::to_string(last) + ", and Port or some of DataPortRange are among them; add " +
            std::to_string(config.port) + "," + std::to_string(data.first) + "-" +
            std::to_string(data.last) + " to net.ipv4.ip_local_reserved_ports (sysctl.d)");
}

std::optional<Finding> check_local_ports(const Config& config) {
    const auto text_of = [](const char* path) {
        std::ifstream file{path};
        std::string line;
        std::getline(file, line);
        return line;
    };
    return judge_local_ports(config,
                             text_of("/proc/sys/net/ipv4/ip_local_port_range"),
                             text_of("/proc/sys/net/ipv4/ip_local_reserved_ports"));
}

Finding judge_node_address(const Config& config,
                           const std::string& node_address,
                           const std::string& numeric,
                           const std::vector<AddressSeen>& seen) {
    const std::string subject = "NodeAddr";
    if (numeric.empty()) {
        return doubtful(subject,
                        node_address +
                            " of slurm.conf has no address here; other nodes must "
                            "know it, by /etc/hosts or DNS");
    }
    const std::string name =
        numeric == node_address ? numeric : node_address + " (" + numeric + ")";
    if (const auto ip = parse_ip(numeric); ip && ip->is_loopback()) {
        return doubtful(subject,
                        name +
                            " is this host's loopback here; other nodes must know another "
                            "address of it, and this one should, too (see /etc/hosts)");
    }
    const auto found = std::ranges::find(seen, numeric, &AddressSeen::address);
    if (found == seen.end()) {
        return doubtful(subject,
                        name +
                            " is no address of this host, and other nodes' stagecastd "
                            "connect to it; correct NodeAddr or /etc/hosts, unless address "
                            "translation leads here");
    }
    const bool is_used = is_named(config, found->interface);
    return fine(subject,
                name + " is " + found->interface + "'s" +
                    (is_used ? "" : "; the files' data go by another interface (Interface)"));
}

std::optional<Finding> check_node_address(const Config& config,
                                          const std::string& node_address) {
    if (node_address.empty()) {
        return std::nullopt;
    }
    return judge_node_address(config, node_address, numeric_of(node_address), addresses_seen());
}

Finding check_loopback() {
    const std::string subject = "loopback";
    const std::string remedy =
        " does not pass on the interface lo, so a firewall drops it; let all of lo pass "
        "(iptables -I INPUT -i lo -j ACCEPT)";
    if (!passes(SOCK_STREAM)) {
        return wrong(subject, "TCP" + remedy);
    }
    return passes(SOCK_DGRAM) ? fine(subject, "TCP and UDP pass")
                              : doubtful(subject, "UDP" + remedy);
}

}  // namespace stage

#include "pmix/static/host_file.h"

#include "pmix/business_card.h"
#include "transport/base/address.h"

#include <netdb.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

namespace stage {
namespace {

std::string_view trimmed(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) {
        return {};
    }
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

/// Rejects a carriage return or a NUL inside of a name, where some programs would end it.
bool is_word(std::string_view host) {
    return std::all_of(host.begin(), host.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

/// A host's own name often leads it to 127.0.1.1, where no other host finds it.
Status check_reachable(const std::vector<std::string>& names, const HostList& list) {
    const bool is_local = std::ranges::all_of(list, &IpAddress::is_loopback);
    for (std::size_t i = 0; i < list.size() && !is_local; ++i) {
        if (list[i].is_loopback() && !parse_ip(names[i])) {
            return Error{Blame::user,
                         names[i] + " is " + to_string(list[i]) +
                             " here, where the other hosts don't find it"}
                .remedy("give numeric addresses, or correct /etc/hosts");
        }
    }
    return {};
}

Error in_line(const std::string& file, std::size_t line, const std::string& why) {
    return {Blame::user, file + ", line " + std::to_string(line) + ": " + why};
}

}  // namespace

Result<IpAddress> resolve_host(const std::string& name) {
    if (const auto address = parse_ip(name)) {
        return *address;
    }
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int status = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list{found, ::freeaddrinfo};
    if (status != 0) {
        return Error{Blame::user, name + ": " + ::gai_strerror(status)};
    }
    const auto address = list ? Address::from_socket(list->ai_addr, list->ai_addrlen)
                              : Result<Address>{Error{Blame::user, ""}};
    if (!address) {
        return Error{Blame::user, name + " has no address"};
    }
    return address->ip;
}

Result<std::vector<std::string>> parse_host_file(std::string_view text,
                                                 const std::string& file) {
    std::vector<std::string> hosts;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view host = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (!is_word(host) || host.size() > 255) {
            return in_line(file, number, "one address a line, nothing else");
        }
        if (!host.empty()) {
            hosts.emplace_back(host);
        }
    }
    if (hosts.empty() || hosts.size() > kMaxCards) {
        return Error{Blame::user,
                     file + " names " + std::to_string(hosts.size()) +
                         " hosts; a group has 1 to " + std::to_string(kMaxCards)};
    }
    return hosts;
}

Result<HostList> read_host_file(const std::string& path) {
    std::ifstream file{path};
    if (!file) {
        return Error::from_errno(Blame::user, "reading the host file " + path);
    }
    std::ostringstream text;
    text << file.rdbuf();
    TRY(auto hosts, parse_host_file(text.str(), path));
    return resolve_hosts(hosts, path);
}

Result<HostList> resolve_hosts(const std::vector<std::string>& names, const std::string& file) {
    HostList list;
    for (const std::string& host : names) {
        Result<IpAddress> address = resolve_host(host);
        if (!address) {
            return std::move(address).error().within(file);
        }
        if (address->is_any()) {
            return Error{Blame::user, host + " is no host's address"}.within(file);
        }
        list.push_back(*address);
    }
    if (Status reachable = check_reachable(names, list); !reachable) {
        return std::move(reachable).error().within(file);
    }
    return list;
}

}  // namespace stage

#include "stager/daemon/run/data_ports.h"

#include "stager/config/engine_ports.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/udp/sockets.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

bool is_engines(unsigned port) {
    return port >= kEnginePortFirst && port <= kEnginePortLast;
}

/// The first ports of all sequences of `flows` fit ports.
template <class IsFit>
std::vector<std::uint16_t> runs_of(const ConfigRange<std::uint16_t>& range,
                                   std::size_t flows,
                                   IsFit is_fit) {
    std::vector<std::uint16_t> firsts;
    std::size_t run = 0;
    for (unsigned port = range.first; port <= range.last; ++port) {
        run = is_fit(static_cast<std::uint16_t>(port)) ? run + 1 : 0;
        if (run >= flows) {
            firsts.push_back(static_cast<std::uint16_t>(port + 1 - flows));
        }
    }
    return firsts;
}

}  // namespace

void DataPorts::hold(const ConfigRange<std::uint16_t>& range) {
    std::erase_if(held_, [&](const auto& one) {
        return one.first < range.first || one.first > range.last;
    });
    taken_.clear();
    taken_tcp_.clear();
    for (unsigned wide = range.first; wide <= range.last && held_.size() < kMost; ++wide) {
        const auto port = static_cast<std::uint16_t>(wide);
        if (held_.contains(port) || is_engines(port)) {
            continue;
        }
        if (auto held = udp::hold_port(port)) {
            held_[port].udp = *std::move(held);
        } else if (held.error().cause() == EADDRINUSE) {
            taken_.insert(port);
        }
    }
    for (auto& [port, held] : held_) {
        hold_tcp(port, held);
    }
}

void DataPorts::hold_tcp(std::uint16_t port, Held& held) {
    if (!held.tcp) {
        if (auto tcp = tcp::hold_port(AF_INET, port)) {
            held.tcp = *std::move(tcp);
        } else if (tcp.error().cause() == EADDRINUSE) {
            taken_tcp_.insert(port);
        }
    }
    if (!held.tcp_v6) {
        if (auto tcp = tcp::hold_port(AF_INET6, port)) {
            held.tcp_v6 = *std::move(tcp);
        }
    }
}

std::unique_ptr<LentPort> DataPorts::lend() {
    const auto find = [&](bool with_tcp) {
        return std::ranges::find_if(held_, [&](const auto& one) {
            return !lent_->contains(one.first) && (one.second.tcp || !with_tcp);
        });
    };
    auto found = find(true);
    found = found == held_.end() ? find(false) : found;
    return found == held_.end() ? nullptr : std::make_unique<LentPort>(lent_, found->first);
}

std::vector<DataPorts::Run> DataPorts::open_to_all(
    const ConfigRange<std::uint16_t>& range) const {
    std::vector<Run> runs;
    for (unsigned wide = range.first; wide <= range.last; ++wide) {
        const auto port = static_cast<std::uint16_t>(wide);
        if (is_held(port)) {
            continue;
        }
        if (!runs.empty() && runs.back().second + 1U == wide) {
            runs.back().second = port;
        } else {
            runs.emplace_back(port, port);
        }
    }
    return runs;
}

std::optional<std::uint16_t> DataPorts::draw(const ConfigRange<std::uint16_t>& range,
                                             std::size_t flows,
                                             std::uint32_t draw,
                                             const Ports& excluded) const {
    auto firsts = runs_of(range, flows, [&](std::uint16_t port) {
        return is_held(port) && !excluded.contains(port);
    });
    if (firsts.empty()) {
        firsts = runs_of(range, flows, [&](std::uint16_t port) {
            return !taken_.contains(port) && !excluded.contains(port);
        });
    }
    return firsts.empty() ? std::nullopt : std::optional{firsts[draw % firsts.size()]};
}

}  // namespace stage

#include "stager/daemon/run/data_ports.h"

#include "stager/config/engine_ports.h"
#include "transport/udp/sockets.h"

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
    for (unsigned wide = range.first; wide <= range.last && held_.size() < kMost; ++wide) {
        const auto port = static_cast<std::uint16_t>(wide);
        if (held_.contains(port) || is_engines(port)) {
            continue;
        }
        if (auto held = udp::hold_port(port)) {
            held_.emplace(port, *std::move(held));
        } else if (held.error().cause() == EADDRINUSE) {
            taken_.insert(port);
        }
    }
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

#include "tests/sim/network.h"

#include "tests/sim/environment.h"

#include <algorithm>
#include <cstdio>

namespace stage::sim {

Duration Link::time_of(std::uint64_t bytes) const {
    return Duration{static_cast<Duration::rep>(bytes * 1'000'000'000 / rate_)};
}

std::uint64_t Link::backlog(Instant now) const {
    if (busy_until_ <= now) {
        return 0;
    }
    const auto ns = static_cast<std::uint64_t>((busy_until_ - now).count());
    return static_cast<std::uint64_t>(static_cast<Wide>(ns) * rate_ / 1'000'000'000U);
}

Instant Link::drained_to(std::uint64_t bytes) const {
    return busy_until_ - time_of(bytes);
}

std::optional<Instant> Link::carry(Instant now, std::uint32_t bytes) {
    if (backlog(now) + bytes > queue_bytes_) {
        dropped_ += bytes;
        return std::nullopt;
    }
    first_ = first_ ? first_ : now;
    busy_until_ = std::max(busy_until_, now) + time_of(bytes) + Duration{1};
    carried_ += bytes;
    return busy_until_;
}

bool Link::is_honest() const {
    if (!first_) {
        return carried_ == 0;
    }
    const auto ns = static_cast<std::uint64_t>((busy_until_ - *first_).count());
    return carried_ <=
           static_cast<std::uint64_t>(static_cast<Wide>(ns) * rate_ / 1'000'000'000U) + 1;
}

Network::Network(const Plan& plan, Events& events, Prng& prng, Deliver deliver)
    : plan_{plan},
      events_{events},
      prng_{prng},
      deliver_{std::move(deliver)},
      burst_until_(plan.members),
      is_traced_{variable("TRACE") != nullptr} {
    for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
        const std::uint64_t up =
            plan.uplink_bytes_per_s > 0 ? plan.uplink_bytes_per_s : plan.link_bytes_per_s;
        up_.emplace_back(up, std::uint64_t{1} << 40U);
        down_.emplace_back(plan.link_bytes_per_s, plan.port_buffer_bytes);
    }
}

std::uint64_t Network::uplink_backlog(std::uint16_t member) const {
    return up_[member].backlog(events_.now());
}

Instant Network::uplink_drained(std::uint16_t member, std::uint64_t bytes) const {
    return up_[member].drained_to(bytes);
}

bool Network::is_honest() const {
    return std::ranges::all_of(up_, &Link::is_honest) &&
           std::ranges::all_of(down_, &Link::is_honest);
}

void Network::send(const Packet& packet) {
    if (is_traced_) {
        trace(packet);
    }
    const auto left = up_[packet.from].carry(events_.now(), packet.wire_bytes);
    events_.at(*left + plan_.propagation, [this, packet] { arrive_at_switch(packet); });
}

void Network::trace(const Packet& packet) const {
    std::printf("%10.3f ms  %u -> %s%u  type %u  number %llu  block %u chunk %u  %u bytes\n",
                static_cast<double>(events_.now().time_since_epoch().count()) / 1e6,
                packet.from,
                packet.to_group ? "all/" : "",
                packet.to,
                static_cast<unsigned>(packet.header.type),
                static_cast<unsigned long long>(packet.header.packet_number),
                packet.header.block.value(),
                packet.header.chunk.value(),
                packet.body_bytes);
}

bool Network::is_cut(std::uint16_t from, std::uint16_t to, Instant now) const {
    const Duration time = now.time_since_epoch();
    return std::ranges::any_of(plan_.partitions, [&](const Partition& partition) {
        if (time < partition.begin || time >= partition.end) {
            return false;
        }
        const auto& cut = partition.members;
        const bool is_from = std::ranges::find(cut, from) != cut.end();
        const bool is_to = std::ranges::find(cut, to) != cut.end();
        return (is_from && !is_to && partition.says_nothing) ||
               (is_to && !is_from && partition.hears_nothing);
    });
}

void Network::arrive_at_switch(const Packet& packet) {
    const bool is_healthy = events_.now().time_since_epoch() >= plan_.heals_at;
    if (!is_healthy && prng_.chance_ppm(plan_.loss.shared_ppm)) {
        ++lost_;
        return;
    }
    if (!packet.to_group) {
        forward(packet.to, packet, is_healthy);
        return;
    }
    for (std::uint16_t member = 0; member < plan_.members; ++member) {
        if (member != packet.from) {
            forward(member, packet, is_healthy);
        }
    }
}

bool Network::is_lost(std::uint16_t member, bool is_healthy) {
    if (is_healthy) {
        return false;
    }
    if (events_.now() < burst_until_[member]) {
        return true;
    }
    if (plan_.loss.burst_ppm > 0 && prng_.chance_ppm(plan_.loss.burst_ppm)) {
        burst_until_[member] =
            events_.now() +
            Duration{static_cast<Duration::rep>(std::uint64_t{plan_.loss.burst_packets} * 1514 *
                                                1'000'000'000 / plan_.link_bytes_per_s)};
    }
    const std::uint32_t ppm = plan_.loss.independent_ppm + plan_.member[member].extra_loss_ppm;
    return ppm > 0 && prng_.chance_ppm(ppm);
}

void Network::forward(std::uint16_t member, const Packet& packet, bool is_healthy) {
    const Instant now = events_.now();
    if ((!plan_.partitions.empty() && is_cut(packet.from, member, now)) ||
        is_lost(member, is_healthy)) {
        ++lost_;
        return;
    }
    const auto left = down_[member].carry(now, packet.wire_bytes);
    if (!left) {
        ++lost_;
        return;
    }
    const Instant arrival = *left + plan_.propagation;
    if (!is_healthy && prng_.chance_ppm(plan_.loss.reorder_ppm)) {
        const Instant late = arrival + plan_.loss.reorder_delay;
        events_.at(late, [this, member, late, packet] { deliver_(member, late, packet); });
        return;
    }
    deliver_(member, arrival, packet);
    if (!is_healthy && prng_.chance_ppm(plan_.loss.duplicate_ppm)) {
        deliver_(member, arrival, packet);
    }
}

}  // namespace stage::sim

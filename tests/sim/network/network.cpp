#include "tests/sim/network/network.h"

#include "tests/sim/world/environment.h"
#include "transport/wire/body.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace stage::sim {
namespace {

constexpr std::uint32_t kBurstPacketBytes = 1514;

/// How many packets pass before one is lost, where each is by the same chance.
std::uint64_t draw_gap(Prng& prng, std::uint32_t ppm) {
    if (ppm >= 1'000'000) {
        return 0;
    }
    const double kept = std::log1p(-static_cast<double>(ppm) / 1e6);
    return static_cast<std::uint64_t>(std::log(1.0 - prng.unit()) / kept);
}

/// Which chunks a request or its refusal is about.
void trace_runs(const Train& train) {
    const auto type = train.header.type;
    if (type != wire::PacketType::request && type != wire::PacketType::lacking) {
        return;
    }
    // (What was encrypted says nothing.)
    const Bytes packet = train.packet(0);
    const auto body = wire::read_request(packet.subspan(
        wire::kHeaderBytes, packet.size() - wire::kHeaderBytes - wire::kCrcBytes));
    std::printf("%26u asks or lacks, id %u:", train.from, body ? body->id : 0U);
    for (const wire::ChunkRun& run : body ? body->runs : std::vector<wire::ChunkRun>{}) {
        std::printf(" %u:%u+%u", run.block.value(), unsigned{run.first}, unsigned{run.count});
    }
    std::printf("\n");
}

template <class Visit>
void for_each(PacketMask mask, const Visit& visit) {
    for (; mask != 0; mask &= mask - 1) {
        visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
    }
}

}  // namespace

Network::Network(const Plan& plan, Events& events, Prng& prng, Deliver deliver)
    : plan_{plan},
      events_{events},
      prng_{prng},
      deliver_{std::move(deliver)},
      burst_until_(plan.members),
      next_loss_(plan.members),
      is_traced_{variable("TRACE") != nullptr} {
    for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
        add_links(rank);
        const std::uint32_t ppm = plan.loss.independent_ppm + plan.member[rank].extra_loss_ppm;
        next_loss_[rank] = ppm > 0 ? draw_gap(prng, ppm) : 0;
    }
}

void Network::add_links(std::uint16_t member) {
    const auto one_of = [](std::uint64_t first, std::uint64_t second, std::uint64_t third) {
        return first > 0 ? first : (second > 0 ? second : third);
    };
    for (std::size_t rail = 0; rail < plan_.rails; ++rail) {
        const std::uint64_t slow = plan_.rail_bytes_per_s(member, rail);
        up_.emplace_back(one_of(slow, plan_.uplink_bytes_per_s, plan_.link_bytes_per_s),
                         plan_.uplink_buffer_bytes,
                         plan_.uplink_bucket_bytes);
        const std::uint64_t own = plan_.member[member].downlink_bytes_per_s;
        down_.emplace_back(one_of(slow, own, plan_.link_bytes_per_s), plan_.port_buffer_bytes);
    }
}

bool Network::is_honest() const {
    return std::ranges::all_of(up_, &Link::is_honest) &&
           std::ranges::all_of(down_, &Link::is_honest);
}

bool Network::is_healthy() const {
    return events_.now().time_since_epoch() >= plan_.heals_at;
}

void Network::send(Train& train) {
    if (is_traced_) {
        trace(train);
    }
    Link& up = up_[link_of(train.from, rail_of(train))];
    const Duration waits = up.backlog(events_.now());
    PacketMask all = train.all();
    // The first packet is at the switch while the others still leave.
    train.spacing = Duration::zero();
    const Instant left = up.carry(events_.now(), train, all);
    const Duration time = left - events_.now() - waits;
    lost_ += static_cast<std::uint64_t>(std::popcount(train.all() & ~all));
    train.spacing = time / static_cast<std::int64_t>(train.count);
    const Instant first = left - train.spacing * (train.count - 1);
    const std::uint64_t flight =
        flights_.park({.train = TrainUse{yard_, train}, .member = train.to, .mask = all});
    events_.at<&Network::arrive_at_switch>(first + plan_.propagation, *this, flight);
}

void Network::trace(const Train& train) const {
    for (std::uint32_t i = 0; i < train.count; ++i) {
        std::printf(
            "%10.3f ms  %u -> %s%u  type %u  number %llu  block %u chunk %u  %u bytes\n",
            static_cast<double>(events_.now().time_since_epoch().count()) / 1e6,
            train.from,
            train.to_group ? "all/" : "",
            train.to_group ? train.header.flow.value() : train.to,
            static_cast<unsigned>(train.header.type),
            static_cast<unsigned long long>(train.header.packet_number + i),
            train.header.block.value(),
            train.header.chunk.value() + i,
            train.body_bytes_of(i));
    }
    trace_runs(train);
}

void Network::trace_lost(std::uint16_t member, const Train& train, PacketMask lost) const {
    std::printf("%10.3f ms  lost on the way %u -> %u  type %u:",
                static_cast<double>(events_.now().time_since_epoch().count()) / 1e6,
                train.from,
                member,
                static_cast<unsigned>(train.header.type));
    for_each(lost, [&train](std::uint32_t i) {
        std::printf(" %llu", static_cast<unsigned long long>(train.header.packet_number + i));
    });
    std::printf("\n");
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

bool Network::is_rail_dead(const Train& train, std::uint16_t to) const {
    const Duration time = events_.now().time_since_epoch();
    return std::ranges::any_of(plan_.rail_faults, [&](const RailFault& fault) {
        return (fault.harm == RailHarm::lost || fault.harm == RailHarm::down) &&
               fault.is_at(time) &&
               (fault.is_of(train.from, rail_of(train)) || fault.is_of(to, rail_of(train)));
    });
}

PacketMask Network::without_rail_loss(std::uint16_t member,
                                      const Train& train,
                                      PacketMask mask) {
    for (const RailFault& fault : plan_.rail_faults) {
        const bool is_here = fault.is_of(member, rail_of(train)) &&
                             fault.is_at(events_.now().time_since_epoch());
        if (is_here && fault.harm == RailHarm::lossy) {
            mask &= ~draw(fault.loss_ppm, mask);
        }
    }
    return mask;
}

/// The switches have forgotten that it listens.
bool Network::is_group_lost(std::uint16_t member) const {
    const MemberPlan& own = plan_.member[member];
    const Duration time = events_.now().time_since_epoch();
    return own.hears_group_until && time >= *own.hears_group_until &&
           (!own.hears_group_from || time < *own.hears_group_from);
}

void Network::arrive_at_switch(std::uint64_t index) {
    const Flight flight = flights_.unpark(index);
    PacketMask mask = flight.mask;
    if (!is_healthy()) {
        const PacketMask lost = draw(plan_.loss.shared_ppm, mask);
        lost_ += static_cast<std::uint64_t>(std::popcount(lost));
        mask &= ~lost;
    }
    if (mask == 0) {
        return;
    }
    if (!flight.train->to_group) {
        forward(flight.member, flight.train, mask);
        return;
    }
    for (std::uint16_t member = 0; member < plan_.members; ++member) {
        if (member != flight.train->from && !is_group_lost(member)) {
            forward(member, flight.train, mask);
        }
    }
}

/// Draws from the packets of `mask`, each with this chance.
PacketMask Network::draw(std::uint32_t ppm, PacketMask mask) {
    PacketMask drawn = 0;
    if (ppm > 0) {
        for_each(mask, [&](std::uint32_t i) {
            drawn |= PacketMask{prng_.chance_ppm(ppm) ? 1U : 0U} << i;
        });
    }
    return drawn;
}

PacketMask Network::without_bursts(std::uint16_t member, const Train& train, PacketMask mask) {
    PacketMask left = mask;
    for_each(mask, [&](std::uint32_t i) {
        const Instant at = events_.now() + train.spacing * i;
        if (at < burst_until_[member]) {
            left &= ~(PacketMask{1} << i);
        } else if (prng_.chance_ppm(plan_.loss.burst_ppm)) {
            burst_until_[member] =
                at + downlink(member, rail_of(train))
                         .time_of(std::uint64_t{plan_.loss.burst_packets} * kBurstPacketBytes);
        }
    });
    return left;
}

/// What is larger than either end's path takes is gone, without a word.
PacketMask Network::without_large(std::uint16_t member,
                                  const Train& train,
                                  PacketMask mask) const {
    for (const std::uint16_t end : {train.from, member}) {
        const std::uint32_t body_max = plan_.member[end].path_body_max;
        for_each(body_max > 0 ? mask : 0, [&](std::uint32_t i) {
            if (train.body_bytes_of(i) > body_max) {
                mask &= ~(PacketMask{1} << i);
            }
        });
    }
    return mask;
}

PacketMask Network::survivors(std::uint16_t member, const Train& train, PacketMask mask) {
    if (plan_.loss.burst_ppm > 0) {
        mask = without_bursts(member, train, mask);
    }
    const std::uint32_t ppm = plan_.loss.independent_ppm + plan_.member[member].extra_loss_ppm;
    if (ppm == 0) {
        return mask;
    }
    std::uint64_t& next = next_loss_[member];
    auto left = static_cast<std::uint64_t>(std::popcount(mask));
    PacketMask rest = mask;
    while (next < left) {
        for (std::uint64_t i = 0; i < next; ++i) {
            rest &= rest - 1;
        }
        mask &= ~(rest & (~rest + 1));
        rest &= rest - 1;
        left -= next + 1;
        next = draw_gap(prng_, ppm);
    }
    next -= left;
    return mask;
}

void Network::forward(std::uint16_t member, const TrainUse& use, PacketMask mask) {
    const Instant now = events_.now();
    const Train& train = *use;
    const bool healthy = is_healthy();
    const PacketMask sent = mask;
    mask = without_large(member, train, mask);
    if ((!plan_.partitions.empty() && is_cut(train.from, member, now)) ||
        (!plan_.rail_faults.empty() && is_rail_dead(train, member))) {
        mask = 0;
    } else if (!healthy) {
        mask = survivors(member, train, mask);
        mask = plan_.rail_faults.empty() ? mask : without_rail_loss(member, train, mask);
    }
    if (mask == 0) {
        lost_ += static_cast<std::uint64_t>(std::popcount(sent));
        if (is_traced_) {
            trace_lost(member, train, sent);
        }
        return;
    }
    Link& down = down_[link_of(member, rail_of(train))];
    const Instant arrival = down.carry(now, train, mask) + plan_.propagation;
    lost_ += static_cast<std::uint64_t>(std::popcount(sent & ~mask));
    if (is_traced_ && mask != sent) {
        trace_lost(member, train, sent & ~mask);
    }
    if (!healthy && plan_.loss.reorder_ppm > 0) {
        const PacketMask late = draw(plan_.loss.reorder_ppm, mask);
        mask &= ~late;
        for_each(late, [&](std::uint32_t i) {
            const std::uint64_t flight =
                flights_.park({.train = use, .member = member, .mask = PacketMask{1} << i});
            events_.at<&Network::arrive_late>(
                arrival + plan_.loss.reorder_delay, *this, flight);
        });
    }
    if (mask != 0) {
        deliver_(member, arrival, use, mask);
    }
    if (!healthy && plan_.loss.duplicate_ppm > 0) {
        const PacketMask twice = draw(plan_.loss.duplicate_ppm, mask);
        if (twice != 0) {
            deliver_(member, arrival, use, twice);
        }
    }
}

void Network::arrive_late(std::uint64_t index) {
    const Flight flight = flights_.unpark(index);
    deliver_(flight.member, events_.now(), flight.train, flight.mask);
}

}  // namespace stage::sim

#include "tests/sim/host/sim_driver.h"

#include "transport/base/invariant.h"
#include "transport/core/base/limits.h"

#include <algorithm>
#include <bit>

namespace stage::sim {
namespace {

constexpr std::uint64_t kUplinkFull = 256U << 10U;
constexpr std::uint64_t kUplinkFree = 128U << 10U;

}  // namespace

SimDriver::SimDriver(const Plan& plan,
                     std::uint16_t rank,
                     const Object& object,
                     const Clock& clock,
                     Network& network,
                     const Events& events,
                     Prng& prng)
    : plan_{plan},
      rank_{rank},
      object_{object},
      clock_{clock},
      network_{network},
      events_{events},
      prng_{prng},
      tag_bytes_{plan.is_really_sealed ? wire::kTagBytes : wire::kCrcBytes},
      inbox_{plan.socket_buffer_bytes} {
}

Status SimDriver::receive(std::vector<ReceivedPacket>& packets, Readable readable) {
    arrivals_.clear();
    taken_ = 0;
    while (taken_ < plan_.packets_per_turn) {
        auto arrival = inbox_.take(events_.now(), !readable.stream);
        if (!arrival) {
            break;
        }
        taken_ += arrival->packets();
        arrivals_.push_back(*std::move(arrival));
    }
    counters_.socket_overflow = inbox_.overflowed();
    if (readable.stream) {  // (What is left, as of UdpDriver.)
        const bool is_full = taken_ >= plan_.packets_per_turn;
        counters_.group_fill = is_full ? inbox_.fill(events_.now()) : std::uint8_t{0};
    }
    unload(arrivals_, buffer_, packets);
    arrivals_.clear();
    return {};
}

void SimDriver::unload(std::span<const Inbox::Arrival> arrivals,
                       std::vector<std::byte>& buffer,
                       std::vector<ReceivedPacket>& packets) {
    std::size_t bytes = 0;
    for (const Inbox::Arrival& arrival : arrivals) {
        bytes += arrival.packets() * arrival.train->packet_bytes;
    }
    buffer.resize(std::max(buffer.size(), bytes));
    MutableBytes room{buffer};
    for (const Inbox::Arrival& arrival : arrivals) {
        const Duration spacing = spacing_of(*arrival.train);
        for (PacketMask mask = arrival.mask; mask != 0; mask &= mask - 1) {
            const auto index = static_cast<std::uint32_t>(std::countr_zero(mask));
            const Bytes packet = arrival.train->packet(index);
            std::ranges::copy(packet, room.begin());
            packets.push_back(
                {.bytes = room.first(packet.size()),
                 .to_group = arrival.train->to_group,
                 .stamp_ns = stamp(arrival, index, spacing).time_since_epoch().count()});
            corrupt(packets.back().bytes);
            room = room.subspan(packet.size());
        }
    }
}

void SimDriver::corrupt(MutableBytes packet) {
    if (plan_.loss.corrupt_ppm > 0 && events_.now().time_since_epoch() < plan_.heals_at &&
        prng_.chance_ppm(plan_.loss.corrupt_ppm)) {
        packet[prng_.below(packet.size())] ^= static_cast<std::byte>(1U << prng_.below(8));
    }
}

/// From one packet of a train to the next where they arrive.
Duration SimDriver::spacing_of(const Train& train) const {
    return std::max(train.spacing,
                    network_.downlink(rank_, network_.rail_of(train))
                        .time_of(train.body_bytes + core::kWireOverheadBytes));
}

/// Stamps arrivals as a kernel does: by the host's clock, and never quite exactly.
Instant SimDriver::stamp(const Inbox::Arrival& arrival, std::uint32_t index, Duration each) {
    const auto later =
        static_cast<std::uint32_t>(std::bit_width(arrival.mask)) - 1 - std::min(index, 63U);
    const auto noise = static_cast<std::uint64_t>(plan_.stamp_noise.count());
    const auto late = static_cast<Duration::rep>(noise > 0 ? prng_.below(noise) : 0);
    return clock_.stamp(arrival.at - each * later) + Duration{late} + kEpoch;
}

/// The first rail is the peers', too. Only the source sends to the group.
std::size_t SimDriver::outlets() const {
    return rank_ == plan_.source ? plan_.rails : 1;
}

std::size_t SimDriver::outlet_of(const TrainTarget& target) const {
    return target.to_group ? target.flow.index() % outlets() : 0;
}

bool SimDriver::carries(Flow flow) {
    const bool is_down = plan_.has_rail_harm(
        RailHarm::down, rank_, flow.index() % outlets(), events_.now().time_since_epoch());
    passed_over_ += is_down ? 1U : 0U;
    return !is_down;
}

Instant SimDriver::blocked_until(std::size_t rail) const {
    Instant until{};
    for (const RailFault& fault : plan_.rail_faults) {
        const bool is_now =
            fault.is_of(rank_, rail) && fault.is_at(events_.now().time_since_epoch());
        until = is_now && fault.harm == RailHarm::blocked ? std::max(until, Instant{fault.end})
                                                          : until;
    }
    return until;
}

Instant SimDriver::room_at(std::uint32_t outlets) const {
    Instant first{Duration::max()};
    for (; outlets != 0; outlets &= outlets - 1) {
        const auto rail = static_cast<std::size_t>(std::countr_zero(outlets));
        first = std::min(first,
                         std::max(network_.uplink(rank_, rail).drained_to(kUplinkFree),
                                  blocked_until(rail)));
    }
    return first;
}

std::uint32_t SimDriver::body_bytes_on_links(const Train& train, std::uint32_t index) const {
    const std::size_t here = train.packet(index).size() - wire::kHeaderBytes - tag_bytes_;
    return train.header.is_data() && object_.is_small()
               ? object_.chunk_bytes(train.header.block.value(),
                                     train.header.chunk.value() + index)
               : static_cast<std::uint16_t>(here);
}

Result<Sent> SimDriver::send(const stage::Train& given) {
    const std::size_t rail = outlet_of(given.target);
    const bool is_blocked = blocked_until(rail) > events_.now();
    const Link& link = network_.uplink(rank_, rail);
    if (is_blocked ||
        (plan_.uplink_buffer_bytes == 0 && link.backlog_bytes(events_.now()) > kUplinkFull)) {
        found_blocked_ += is_blocked ? 1U : 0U;
        ++counters_.send_refused;
        return Sent::would_block;
    }
    Train& train = network_.make();
    train.bytes.clear();
    for (const Bytes piece : given.pieces) {
        train.bytes.insert(train.bytes.end(), piece.begin(), piece.end());
    }
    wire::HeaderFault fault{};
    const auto header = wire::read_header(train.bytes, fault);
    invariant(header && given.packet_bytes > 0 && train.bytes.size() == given.bytes,
              "a train consists of packets");
    train.from = rank_;
    train.to_group = given.target.to_group;
    train.to = given.target.peer.value();
    train.header = *header;
    train.packet_bytes = given.packet_bytes;
    train.count =
        static_cast<std::uint32_t>((given.bytes + given.packet_bytes - 1) / given.packet_bytes);
    train.body_bytes = body_bytes_on_links(train, 0);
    train.last_body_bytes = body_bytes_on_links(train, train.count - 1);
    if (header->is_data()) {
        data_sent_ += train.count;
        first_data_at_ = first_data_at_ ? first_data_at_ : events_.now();
        last_data_at_ = events_.now();
    }
    network_.send(train);
    return Sent::all;
}

}  // namespace stage::sim

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
    std::size_t bytes = 0;
    while (taken_ < plan_.packets_per_turn) {
        auto arrival = inbox_.take(events_.now(), !readable.stream);
        if (!arrival) {
            break;
        }
        if (arrival->train->to_group && !hears_group_) {
            continue;
        }
        taken_ += arrival->packets();
        bytes += arrival->packets() * arrival->train->packet_bytes;
        arrivals_.push_back(*std::move(arrival));
    }
    counters_.socket_overflow = inbox_.overflowed();
    if (readable.stream) {  // (What is left, as of UdpDriver.)
        const bool is_full = taken_ >= plan_.packets_per_turn;
        counters_.group_fill = is_full ? inbox_.fill(events_.now()) : std::uint8_t{0};
    }
    buffer_.resize(std::max(buffer_.size(), bytes));
    MutableBytes room{buffer_};
    for (const Inbox::Arrival& arrival : arrivals_) {
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
    arrivals_.clear();
    return {};
}

void SimDriver::corrupt(MutableBytes packet) {
    if (plan_.loss.corrupt_ppm > 0 && events_.now().time_since_epoch() < plan_.heals_at &&
        prng_.chance_ppm(plan_.loss.corrupt_ppm)) {
        packet[prng_.below(packet.size())] ^= static_cast<std::byte>(1U << prng_.below(8));
    }
}

/// From one packet of a train to the next where they arrive.
Duration SimDriver::spacing_of(const Train& train) const {
    return std::max(
        train.spacing,
        network_.downlink(rank_).time_of(train.body_bytes + core::kWireOverheadBytes));
}

/// As a kernel stamps arrivals: by the host's clock, and never quite exactly.
Instant SimDriver::stamp(const Inbox::Arrival& arrival, std::uint32_t index, Duration each) {
    const auto later =
        static_cast<std::uint32_t>(std::bit_width(arrival.mask)) - 1 - std::min(index, 63U);
    const auto noise = static_cast<std::uint64_t>(plan_.stamp_noise.count());
    const auto late = static_cast<Duration::rep>(noise > 0 ? prng_.below(noise) : 0);
    return clock_.stamp(arrival.at - each * later) + Duration{late} + kEpoch;
}

Instant SimDriver::room_at() const {
    return network_.uplink_drained(rank_, kUplinkFree);
}

std::uint32_t SimDriver::body_bytes_on_links(const Train& train, std::uint32_t index) const {
    const std::size_t here = train.packet(index).size() - wire::kHeaderBytes - tag_bytes_;
    return train.header.is_data() && object_.is_small()
               ? object_.chunk_bytes(train.header.block.value(),
                                     train.header.chunk.value() + index)
               : static_cast<std::uint16_t>(here);
}

Result<Sent> SimDriver::send(const stage::Train& given) {
    if (plan_.uplink_buffer_bytes == 0 && network_.uplink_backlog(rank_) > kUplinkFull) {
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

Status SimDriver::hear_group(bool hears) {
    left_at_ = left_at_ || hears ? left_at_ : events_.now();
    hears_group_ = hears;
    network_.hear_group(rank_, hears);
    return {};
}

}  // namespace stage::sim

#include "tests/sim/mpi/short_broadcast.h"

#include "tests/sim/mpi/mpi_world.h"
#include "transport/base/invariant.h"

#include <algorithm>

namespace stage::sim {
namespace {

/// To the ring it is a member of a group.
stagecast_member* member_of(ShortWindow& window) {
    return reinterpret_cast<stagecast_member*>(&window);
}

ShortWindow& window_of(stagecast_member* member) {
    return *reinterpret_cast<ShortWindow*>(member);
}

std::vector<std::vector<std::byte>> packets_of(Bytes message, std::uint64_t call, Rank source) {
    std::vector<std::vector<std::byte>> packets;
    for (std::size_t i = 0; i < short_fragments(message.size()); ++i) {
        const auto header = encode_short({.mark = 0,
                                          .source = source,
                                          .length = static_cast<std::uint16_t>(message.size()),
                                          .number = call * kShortFragments + i});
        const Bytes fragment = short_fragment(message, i);
        std::vector<std::byte> packet{header.begin(), header.end()};
        packet.insert(packet.end(), fragment.begin(), fragment.end());
        packets.push_back(std::move(packet));
    }
    return packets;
}

void keep(ShortWindow& window, Bytes packet) {
    const auto header = decode_short(packet);
    if (header && window.is_wanted(*header)) {
        window.keep(*header, packet.subspan(kShortHeaderBytes));
    }
}

}  // namespace

ShortBroadcast::ShortBroadcast()
    : window_{std::make_unique<ShortWindow>()}, calls_{ring_calls_open(member_of(*window_))} {
    invariant(calls_ != nullptr, "the simulated MPI keeps what is sent");
}

void ShortBroadcast::broadcast(MutableBytes bytes, int source) {
    invariant(try_broadcast(bytes, source) == 0, "the simulated MPI has no errors");
}

int ShortBroadcast::try_broadcast(MutableBytes bytes, int source) {
    return ring_calls_broadcast(calls_, bytes.data(), bytes.size(), source);
}

void ShortBroadcast::close() {
    ring_calls_close(calls_);
    calls_ = nullptr;
}

}  // namespace stage::sim

// What the ring calls of a member (member.h).
extern "C" {

int stagecast_member_send_short(stagecast_member* /*member*/,
                                uint64_t call,
                                const void* bytes,
                                size_t count) {
    auto& world = stage::sim::MpiWorld::here();
    const auto packets =
        stage::sim::packets_of({static_cast<const std::byte*>(bytes), count},
                               call,
                               stage::Rank{static_cast<std::uint16_t>(world.rank())});
    world.multicast(packets);
    return static_cast<int>(packets.size());
}

int stagecast_member_take_short(
    stagecast_member* member, uint64_t call, int source, void* bytes, size_t count) {
    auto& world = stage::sim::MpiWorld::here();
    stage::ShortWindow& window = stage::sim::window_of(member);
    const stage::Rank sender{static_cast<std::uint16_t>(source)};
    window.begin(call);
    stage::Bytes message = window.message(sender, count);
    while (message.empty()) {
        const auto packet = world.take_packet();
        if (!packet) {
            return 0;
        }
        stage::sim::keep(window, *packet);
        message = window.message(sender, count);
    }
    std::ranges::copy(message, static_cast<std::byte*>(bytes));
    world.has_from_multicast();
    return 1;
}
}

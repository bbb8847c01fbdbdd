// Fuzzes a relay's receiver: it keeps its contract for any packets, links and disk errors.
//
// The input is a number of blocks, the configuration, and what happens (driven_core.h). Rank 2
// of five: in a chain rank 1 is its parent and rank 3 its child. Of two trees the first one has
// rank 4 above it and rank 3 below, the second one rank 1 above it.
#include "transport/core/relay/relay_receiver.h"

#include "tests/fuzz/transport/core_events.h"
#include "tests/fuzz/transport/driven_relay.h"

namespace stage {
namespace {

constexpr std::uint16_t kOwn = 2;
constexpr std::uint16_t kParent = 1;
constexpr std::uint16_t kChild = 3;
constexpr std::uint16_t kFirstParent = 4;
constexpr std::uint8_t kFirstHeld = 8;
constexpr std::uint8_t kTwoTrees = 128;

using Link = LinkEvent::Kind;
using wire::PacketType;

std::vector<std::byte> offer_of(std::uint32_t blocks) {
    return wire::write(wire::Offer{.blocks = blocks,
                                   .object_bytes = std::uint64_t{blocks} * 700,
                                   .chunk_bytes = kRelayChunkBytes,
                                   .awaited = {},
                                   .descriptors = {}});
}

std::vector<std::byte> described(std::uint32_t block) {
    const wire::Descriptor whole{.length = 700, .wire_length = 700, .leaf = {}};
    return wire::write(wire::Describe{.first = BlockIndex{block}, .descriptors = {whole}});
}

std::vector<std::byte> request_of(std::uint32_t block) {
    return wire::write(
        wire::Request{.id = 1, .runs = {{.block = BlockIndex{block}, .first = 0, .count = 9}}});
}

std::vector<std::byte> released() {
    return wire::write(wire::Ending{.outcome = 0, .rank = Rank{0}, .why = {}});
}

std::vector<std::byte> ready() {
    return wire::write(wire::Ready{});
}

/// The block is passed on before it is stored, and all below hold the object, too.
std::vector<std::byte> passed_on() {
    const wire::Done below{{{Rank{kChild}, Rank{kDrivenMembers - 1}}}};
    return CoreEvents{0, 0, kOwn}
        .due(1)
        .link(Link::ready, kParent)
        .packet(PacketType::offer, kParent, false, offer_of(1))
        .packet(PacketType::ready, kChild, false, ready())
        .packet(PacketType::request, kChild, false, request_of(0))
        .packet(PacketType::describe, kParent, false, described(0))
        .data(0, 0, 700, kParent)
        .done()
        .done()
        .done()
        .packet(PacketType::done, kChild, false, wire::write(below))
        .due(3)
        .packet(PacketType::release, kParent, false, released())
        .packet(PacketType::done_ack, kChild, false, wire::write(below))
        .due(2)
        .bytes();
}

/// Its parent's connection ends, and the child asks for what the source gave; `operations`:
/// of the disk, for both blocks.
std::vector<std::byte> by_source(std::uint8_t how, int operations) {
    CoreEvents events{1, how, kOwn};
    events.due(1)
        .packet(PacketType::offer, kParent, false, offer_of(2))
        .link(Link::closed, kParent)
        .due(1)
        .packet(PacketType::pulse, 0, false, wire::write(wire::Pulse{}))
        .packet(PacketType::describe, 0, false, described(0))
        .data(0, 0, 700, 0)
        .packet(PacketType::describe, 0, false, described(1))
        .data(1, 0, 700, 0);
    for (; operations > 0; --operations) {
        events.done();
    }
    return events.packet(PacketType::ready, kChild, false, ready())
        .packet(PacketType::request, kChild, false, request_of(0))
        .packet(PacketType::request, kChild, false, request_of(1))
        .link(Link::ready, kChild)
        .done()
        .due(5)
        .packet(PacketType::release, 0, false, released())
        .link(Link::closed, kChild)
        .due(2)
        .bytes();
}

/// A block by each of two trees; the first one's parent is replaced by the source in between.
std::vector<std::byte> by_two_trees() {
    CoreEvents events{1, kTwoTrees, kOwn};
    events.due(1)
        .packet(PacketType::offer, kFirstParent, false, offer_of(2))
        .packet(PacketType::ready, kChild, false, ready())
        .packet(PacketType::request, kChild, false, request_of(0))
        .by_stripe(1)
        .link(Link::ready, kParent)
        .packet(PacketType::describe, kParent, false, described(1))
        .data(1, 0, 700, kParent)
        .done()
        .done()
        .by_stripe(0)
        .link(Link::closed, kFirstParent)
        .due(1)
        .packet(PacketType::describe, 0, false, described(0))
        .data(0, 0, 700, 0);
    return events.done()
        .done()
        .done()
        .due(2)
        .packet(PacketType::release, 0, false, released())
        .link(Link::closed, kChild)
        .due(2)
        .bytes();
}

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader reader{input};
    const std::uint32_t blocks = 1U + reader.u8() % 6U;
    const core::CoreConfig config = relay_config(reader, kOwn);
    core::RelayReceiver core{config, config.next_relay};
    DrivenCore<DrivenConnections> driven{reader, blocks, config, core};
    driven.run();
    return driven.has_finished();
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {{"passed_on", passed_on()},
            {"by_source", by_source(0, 4)},
            {"first_held", by_source(kFirstHeld, 2)},
            {"two_trees", by_two_trees()}};
}

}  // namespace stage

// Fuzzes a receiver: it keeps its contract for any packets and disk errors.
//
// The input is a number of blocks, the configuration, and what happens (driven_core.h).
#include "tests/fuzz/transport/core_events.h"
#include "tests/fuzz/transport/driven_core.h"
#include "transport/core/receiver/receiver.h"

namespace stage {
namespace {

constexpr std::uint16_t kOwn = 2;
constexpr std::uint8_t kRateConfigured = 2;

using wire::PacketType;

std::vector<std::byte> offer_of(std::uint32_t blocks, std::uint64_t bytes) {
    return wire::write(wire::Offer{.blocks = blocks,
                                   .object_bytes = bytes,
                                   .chunk_bytes = kDrivenChunkBytes,
                                   .awaited = {},
                                   .descriptors = {}});
}

std::vector<std::byte> released() {
    return wire::write(wire::Ending{.outcome = 0, .rank = Rank{0}, .why = {}});
}

std::vector<std::byte> small_object() {
    const wire::Descriptor block{.length = 1300, .wire_length = 1300, .leaf = {}};
    return CoreEvents{0, kRateConfigured, kOwn}
        .packet(PacketType::offer, 0, true, offer_of(1, 1300))
        .packet(PacketType::describe,
                0,
                true,
                wire::write(wire::Describe{.first = BlockIndex{0}, .descriptors = {block}}))
        .data(0, 0, kDrivenChunkBytes)
        .data(0, 1, kDrivenChunkBytes)
        .data(0, 2, 1300 - 2 * kDrivenChunkBytes)
        .done()
        .done()
        .done()
        .due(4)
        .packet(PacketType::release, 0, true, released())
        .due(4)
        .bytes();
}

/// The first block is announced as compressed, a chunk is lost and repaired by a peer.
std::vector<std::byte> repaired() {
    const wire::Descriptor first{.length = kBlockBytes,
                                 .wire_length = 700,
                                 .encoding = wire::Encoding::zstd,
                                 .leaf = {}};
    const wire::Descriptor hole{.length = 100, .encoding = wire::Encoding::hole, .leaf = {}};
    const wire::Describe both{.first = BlockIndex{0}, .descriptors = {first, hole}};
    const wire::Request asked{.id = 7,
                              .runs = {{.block = BlockIndex{0}, .first = 0, .count = 2}}};
    return CoreEvents{1, 0, kOwn}
        .due(3)
        .packet(PacketType::offer, 0, true, offer_of(2, kBlockBytes + 100))
        .packet(PacketType::describe, 0, true, wire::write(both))
        .data(0, 1, 700 - kDrivenChunkBytes)
        .packet(PacketType::end, 0, true, wire::write(wire::End{.blocks = 2}))
        .wait(30)
        .due(6)
        .packet(PacketType::lacking, 3, false, wire::write(asked))
        .data(0, 0, kDrivenChunkBytes)
        .done()
        .done()
        .done()
        .done()
        .packet(PacketType::request, 4, false, wire::write(asked))
        .done()
        .done()
        .due(4)
        .abort()
        .bytes();
}

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader reader{input};
    const std::uint32_t blocks = 1U + reader.u8() % 6U;
    Prng prng{7};
    const core::CoreConfig config = multicast_config(reader, kOwn);
    core::Receiver core{config, prng};
    DrivenCore<> driven{reader, blocks, config, core};
    driven.run();
    return driven.has_finished();
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {{"small_object", small_object()}, {"repaired", repaired()}};
}

}  // namespace stage

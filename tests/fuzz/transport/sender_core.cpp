// Fuzzes a source: it keeps its contract for any packets and disk errors.
//
// The input is a number of blocks, the configuration, and what happens (driven_core.h).
#include "tests/fuzz/transport/core_events.h"
#include "tests/fuzz/transport/driven_core.h"
#include "transport/core/source/sender.h"

namespace stage {
namespace {

constexpr std::uint8_t kRateConfigured = 2;

using wire::PacketType;

void all_ready(CoreEvents& events) {
    for (std::uint16_t rank = 1; rank < kDrivenMembers; ++rank) {
        events.packet(PacketType::ready,
                      rank,
                      false,
                      wire::write(wire::Ready{.source_time_us = rank == 1 ? 0U : 1000U}));
    }
}

void all_done(CoreEvents& events) {
    events.packet(PacketType::done,
                  1,
                  false,
                  wire::write(wire::Done{{{Rank{1}, Rank{kDrivenMembers - 1}}}}));
}

std::vector<std::byte> sent(std::uint8_t blocks) {
    CoreEvents events{blocks, kRateConfigured, 0};
    events.due(2);
    all_ready(events);
    events.done().done().done().due(20);
    const wire::Report report{.mark = 3,
                              .mark_at_ns = 5'000'000,
                              .span = 3,
                              .span_ns = 100'000,
                              .received = 2,
                              .heard = 2,
                              .missing = {{.block = BlockIndex{0}, .first = 1, .count = 1}}};
    events.packet(PacketType::report, 2, false, wire::write(report)).due(4);
    const wire::Request request{.id = 3,
                                .runs = {{.block = BlockIndex{0}, .first = 0, .count = 2},
                                         {.block = BlockIndex{0}, .first = 0, .count = 0}}};
    events.packet(PacketType::request, 3, false, wire::write(request)).done().done().due(6);
    all_done(events);
    return events.due(8).bytes();
}

std::vector<std::byte> left() {
    CoreEvents events{0, 4 + 8, 0};
    all_ready(events);
    const wire::Left away{.id = 1, .standing = wire::Standing::away};
    events.packet(PacketType::left, 2, false, wire::write(away)).done().done().due(10);
    const wire::Ending leaves{
        .outcome = 1, .rank = Rank{3}, .why = "node n3: the disk is full"};
    return events.packet(PacketType::leave, 3, false, wire::write(leaves)).due(9).bytes();
}

/// A member reports that all are done, the source included, which has read nothing yet.
std::vector<std::byte> done_for_source() {
    CoreEvents events{0, kRateConfigured, 0};
    all_ready(events);
    const wire::Done all{{{Rank{0}, Rank{kDrivenMembers - 1}}}};
    return events.packet(PacketType::done, 1, false, wire::write(all))
        .done()
        .done()
        .due(9)
        .bytes();
}

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader reader{input};
    const core::ObjectShape shape = driven_shape(reader);
    Prng prng{7};
    core::Limits limits;
    limits.source_descriptors_max = 1;
    const core::CoreConfig config = multicast_config(reader, 0);
    core::Sender core{config, shape, prng, limits};
    DrivenCore<> driven{reader, shape.blocks, config, core};
    driven.run();
    return driven.has_finished();
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {{"small_object", sent(0)},
            {"two_blocks", sent(1)},
            {"left", left()},
            {"done_for_source", done_for_source()}};
}

}  // namespace stage

// Fuzzes a relay's source: it keeps its contract for any packets, links and disk errors.
//
// The input is a number of blocks, the configuration, and what happens (driven_core.h).
#include "transport/core/relay/relay_source.h"

#include "tests/fuzz/transport/core_events.h"
#include "tests/fuzz/transport/driven_relay.h"

namespace stage {
namespace {

constexpr std::uint8_t kDegreeTwo = 1;
constexpr std::uint8_t kDropsFailed = 4;
constexpr std::uint8_t kFewBuffers = 64;

using Link = LinkEvent::Kind;
using wire::PacketType;

void take_child(CoreEvents& events, std::uint16_t child, std::uint32_t blocks) {
    wire::Request all{.id = 1, .runs = {}};
    for (std::uint32_t block = 0; block < blocks; ++block) {
        all.runs.push_back({.block = BlockIndex{block}, .first = 0, .count = 64});
    }
    events.packet(PacketType::ready, child, false, wire::write(wire::Ready{}));
    events.packet(PacketType::request, child, false, wire::write(all));
}

/// Reads the object once, and again for a second child: there are fewer buffers than blocks.
std::vector<std::byte> sent(std::uint8_t blocks, std::uint8_t how, std::uint16_t last_done) {
    CoreEvents events{blocks, how, 0};
    events.due(1);
    take_child(events, 1, blocks + 1U);
    for (int block = 0; block <= blocks; ++block) {
        events.done();
        for (int run = 0; run < 8; ++run) {
            events.link(Link::ready, 1);
        }
    }
    events.done();
    take_child(events, 2, blocks + 1U);
    for (int run = 0; run < 4; ++run) {
        events.done().link(Link::ready, 2);
    }
    const wire::Done done{{{Rank{1}, Rank{last_done}}}};
    events.packet(PacketType::done, 1, false, wire::write(done));
    return events.wait(60).due(2).bytes();
}

std::vector<std::byte> all_done() {
    auto bytes = sent(0, 0, kDrivenMembers - 1);
    const wire::Done confirmed{{{Rank{1}, Rank{1}}}};
    const auto more = CoreEvents{0, 0, 0}
                          .packet(PacketType::done_ack, 1, false, wire::write(confirmed))
                          .link(Link::closed, 2)
                          .due(2)
                          .bytes();
    bytes.insert(bytes.end(), more.begin() + 2, more.end());
    return bytes;
}

std::vector<std::byte> dropped() {
    auto bytes = sent(0, kDropsFailed, kDrivenMembers - 2);
    const wire::Ending leaves{
        .outcome = 1, .rank = Rank{kDrivenMembers - 1}, .why = "node n4: the disk is full"};
    const auto more = CoreEvents{0, 0, 0}
                          .packet(PacketType::leave, 1, false, wire::write(leaves))
                          .due(2)
                          .bytes();
    bytes.insert(bytes.end(), more.begin() + 2, more.end());
    return bytes;
}

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader reader{input};
    const core::ObjectShape shape = driven_shape(reader);
    const core::CoreConfig config = relay_config(reader, 0);
    core::RelayLimits limits;
    limits.descriptors_max = 1;
    core::RelaySource core{config, shape, config.next_relay, limits};
    DrivenCore<DrivenConnections> driven{reader, shape.blocks, config, core};
    driven.run();
    return driven.has_finished();
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {{"all_done", all_done()},
            {"dropped", dropped()},
            {"read_again", sent(4, kDegreeTwo + kFewBuffers, 3)}};
}

}  // namespace stage

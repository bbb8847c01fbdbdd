// Fuzzes control packets: what is taken of a body is written and read again as the same body,
// however many TLVs of a later release follow, and its lists keep their limits.
//
// The first byte chooses the body as a packet's type does.
#include "tests/fuzz/fuzz.h"
#include "transport/wire/body.h"
#include "transport/wire/packet.h"

#include <algorithm>

namespace stage {
namespace {

using wire::PacketType;

template <class Read>
bool check(Bytes body, Read read) {
    const auto value = read(body);
    if (!value) {
        return false;
    }
    const auto bytes = wire::write(*value);
    invariant(bytes.size() <= wire::kMaxBodyBytes, "a body fits the smallest packet");
    const auto again = read(bytes);
    invariant(again.has_value(), "what is written is read");
    invariant(same(wire::write(*again), bytes), "what is read again is the same body");
    return true;
}

template <class Body>
FuzzSeed seed_of(const char* name, PacketType type, const Body& body) {
    return {name, chosen(static_cast<std::uint8_t>(type), wire::write(body))};
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (input.empty()) {
        return false;
    }
    const Bytes body = input.subspan(1);
    switch (static_cast<PacketType>(input.front())) {
        case PacketType::describe:
            return check(body, wire::read_describe);
        case PacketType::offer:
            return check(body, wire::read_offer);
        case PacketType::ready:
            return check(body, wire::read_ready);
        case PacketType::request:
        case PacketType::lacking:
            return check(body, wire::read_request);
        case PacketType::report:
            return check(body, wire::read_report);
        case PacketType::done:
        case PacketType::done_ack:
            return check(body, wire::read_done);
        case PacketType::release:
        case PacketType::leave:
            return check(body, wire::read_ending);
        case PacketType::end:
            return check(body, wire::read_end);
        case PacketType::pulse:
            return check(body, wire::read_pulse);
        case PacketType::left:
            return check(body, wire::read_left);
        default:
            return false;
    }
}

std::vector<FuzzSeed> fuzz_seeds() {
    using wire::Encoding;
    const wire::Describe describe{
        .first = BlockIndex{5},
        .descriptors = {
            {.length = kBlockBytes, .wire_length = kBlockBytes, .leaf = {}},
            {.length = 4096, .encoding = Encoding::hole, .leaf = {}},
            {.length = 9, .wire_length = 7, .encoding = Encoding::zstd, .leaf = {}}}};
    const wire::Offer offer{.blocks = 3,
                            .object_bytes = 2'200'000,
                            .chunk_bytes = 1400,
                            .source_time_us = 12'345'678,
                            .parities = 8,
                            .awaited = {{.first = Rank{2}, .last = Rank{5}}},
                            .descriptors = describe.descriptors};
    const std::vector<wire::ChunkRun> runs{{.block = BlockIndex{1}, .first = 0, .count = 0},
                                           {.block = BlockIndex{2}, .first = 3, .count = 4}};
    const wire::Report report{.mark = 900,
                              .mark_at_ns = 12'345'678'901,
                              .span = 16,
                              .span_ns = 1'900'000,
                              .received = 15,
                              .drain = 8'000,
                              .overflow = 1,
                              .fill = 20,
                              .hold_us = 250,
                              .heard = 16,
                              .blocks_held = 2,
                              .placed = 2'345,
                              .missing = runs,
                              .ecn = {}};
    wire::Report marked = report;
    marked.ecn = wire::EcnCounts{.ect0 = 3, .ect1 = 1, .ce = 2};
    const wire::Done done{
        .ranks = {{.first = Rank{1}, .last = Rank{7}}, {.first = Rank{9}, .last = Rank{9}}}};
    const wire::Ending ending{
        .outcome = 1, .rank = Rank{4}, .why = "/shared/x: No space left on device"};
    return {
        seed_of("describe", PacketType::describe, describe),
        seed_of("offer", PacketType::offer, offer),
        seed_of("ready", PacketType::ready, wire::Ready{.source_time_us = 7, .hold_us = 8}),
        seed_of("ready-held",
                PacketType::ready,
                wire::Ready{.source_time_us = 7, .hold_us = 8, .held = 9}),
        seed_of("request", PacketType::request, wire::Request{.id = 6, .runs = runs}),
        seed_of("report", PacketType::report, report),
        seed_of("report-ecn", PacketType::report, marked),
        seed_of("done", PacketType::done, done),
        seed_of("release", PacketType::release, ending),
        seed_of("end", PacketType::end, wire::End{.blocks = 3}),
        seed_of("pulse",
                PacketType::pulse,
                wire::Pulse{.sent_at_ns = 12'345'678'901,
                            .packets = 4'321,
                            .block = BlockIndex{2},
                            .chunk = 30,
                            .queue_us = 800,
                            .away = 1,
                            .echo = 17}),
        seed_of("pulse_joined",
                PacketType::pulse,
                wire::Pulse{.packets = 12, .block = {}, .joined = done.ranks}),
        seed_of("left_cut_off",
                PacketType::left,
                wire::Left{.id = 18, .standing = wire::Standing::unreachable}),
        seed_of(
            "left", PacketType::left, wire::Left{.id = 17, .standing = wire::Standing::away})};
}

}  // namespace stage

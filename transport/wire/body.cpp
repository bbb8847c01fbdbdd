#include "transport/wire/body.h"

#include "transport/base/codec.h"
#include "transport/base/invariant.h"
#include "transport/wire/packet.h"
#include "transport/wire/tlv.h"

#include <algorithm>

namespace stage::wire {
namespace {

void write_runs(ByteWriter& out, const std::vector<ChunkRun>& runs) {
    invariant(runs.size() <= kMaxRuns, "a list of runs fits its packet");
    out.u8(static_cast<std::uint8_t>(runs.size()));
    for (const ChunkRun& run : runs) {
        out.u32(run.block.value()).u16(run.first).u16(run.count);
    }
}

std::optional<std::vector<ChunkRun>> read_runs(ByteReader& in) {
    const std::size_t count = in.u8();
    if (count > kMaxRuns) {
        return std::nullopt;
    }
    std::vector<ChunkRun> runs;
    runs.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const BlockIndex block{in.u32()};
        const std::uint16_t first = in.u16();
        runs.push_back({.block = block, .first = first, .count = in.u16()});
        if (unsigned{runs.back().first} + runs.back().count > 0x10000U) {
            return std::nullopt;
        }
    }
    return runs;
}

void write_ranks(ByteWriter& out, const std::vector<RankRun>& ranks) {
    for (const RankRun& run : ranks) {
        out.u16(run.first.value()).u16(run.last.value());
    }
}

std::optional<std::vector<RankRun>> read_ranks(ByteReader& in, std::size_t count) {
    std::vector<RankRun> ranks;
    ranks.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Rank first{in.u16()};
        const Rank last{in.u16()};
        if (!in.ok() || last < first) {
            return std::nullopt;
        }
        ranks.push_back({.first = first, .last = last});
    }
    return ranks;
}

void write_descriptor(ByteWriter& out, const Descriptor& descriptor) {
    out.u32(descriptor.length).u32(descriptor.wire_length);
    out.u8(static_cast<std::uint8_t>(descriptor.encoding)).raw(descriptor.leaf);
}

std::optional<Descriptor> read_descriptor(ByteReader& in) {
    Descriptor descriptor;
    descriptor.length = in.u32();
    descriptor.wire_length = in.u32();
    const std::uint8_t encoding = in.u8();
    const Bytes leaf = in.raw(descriptor.leaf.size());
    const bool sane = in.ok() && descriptor.length >= 1 && descriptor.length <= kBlockBytes &&
                      descriptor.wire_length <= kBlockBytes &&
                      encoding <= static_cast<std::uint8_t>(Encoding::zstd);
    if (!sane) {
        return std::nullopt;
    }
    descriptor.encoding = static_cast<Encoding>(encoding);
    const bool is_hole = descriptor.encoding == Encoding::hole;
    if (is_hole != (descriptor.wire_length == 0)) {
        return std::nullopt;
    }
    if (descriptor.encoding == Encoding::raw && descriptor.wire_length != descriptor.length) {
        return std::nullopt;
    }
    std::copy(leaf.begin(), leaf.end(), descriptor.leaf.begin());
    return descriptor;
}

void write_representatives(ByteWriter& out, const std::optional<Representatives>& body) {
    if (!body) {
        return;
    }
    invariant(body->ranks.size() <= kMaxRepresentatives, "a set of members fits its packet");
    ByteWriter value;
    value.u16(body->version).u8(static_cast<std::uint8_t>(body->ranks.size()));
    for (const Rank rank : body->ranks) {
        value.u16(rank.value());
    }
    write_tlv(out, TlvType::representatives, value.view());
}

TlvUse read_representatives(TlvType type, Bytes value, std::optional<Representatives>& body) {
    if (type != TlvType::representatives) {
        return TlvUse::unknown;
    }
    ByteReader in{value};
    body.emplace().version = in.u16();
    const std::size_t count = in.u8();
    for (std::size_t i = 0; i < std::min(count, kMaxRepresentatives); ++i) {
        body->ranks.push_back(Rank{in.u16()});
    }
    const bool is_sane = in.ok() && count <= kMaxRepresentatives && body->version > 0;
    return is_sane ? TlvUse::taken : TlvUse::invalid;
}

}  // namespace

void append(std::vector<std::byte>& body, const Representatives& representatives) {
    ByteWriter out;
    write_representatives(out, representatives);
    const auto tlv = out.take();
    body.insert(body.end(), tlv.begin(), tlv.end());
}

std::vector<std::byte> write(const Describe& body) {
    invariant(!body.descriptors.empty() && body.descriptors.size() <= kMaxDescriptors,
              "a DESCRIBE has 1 to 40 descriptors");
    ByteWriter out;
    out.u32(body.first.value()).u8(static_cast<std::uint8_t>(body.descriptors.size()));
    for (const Descriptor& descriptor : body.descriptors) {
        write_descriptor(out, descriptor);
    }
    write_representatives(out, body.representatives);
    return out.take();
}

std::optional<Describe> read_describe(Bytes bytes) {
    ByteReader in{bytes};
    Describe body{.first = BlockIndex{in.u32()}, .descriptors = {}, .representatives = {}};
    const std::size_t count = in.u8();
    if (!in.ok() || count == 0 || count > kMaxDescriptors ||
        in.left() < count * kDescriptorBytes || body.first.value() > 0xffffffffU - count) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto descriptor = read_descriptor(in);
        if (!descriptor) {
            return std::nullopt;
        }
        body.descriptors.push_back(*descriptor);
    }
    const bool is_sane = read_tlvs(in, [&body](TlvType type, Bytes value) {
        return read_representatives(type, value, body.representatives);
    });
    return is_sane ? std::optional{std::move(body)} : std::nullopt;
}

namespace {

/// Whose answer is awaited, and the blocks' descriptors.
bool read_lists(ByteReader& in, Offer& body) {
    const std::size_t runs = in.u8();
    if (runs > kMaxAwaitedRuns) {
        return false;
    }
    auto awaited = read_ranks(in, runs);
    if (!awaited) {
        return false;
    }
    body.awaited = *std::move(awaited);
    const std::size_t count = in.u8();
    if (count != 0 && (count > kMaxOfferedDescriptors || count != body.blocks)) {
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto descriptor = read_descriptor(in);
        if (!descriptor) {
            return false;
        }
        body.descriptors.push_back(*descriptor);
    }
    return in.ok();
}

}  // namespace

std::vector<std::byte> write(const Offer& body) {
    ByteWriter out;
    out.u32(body.blocks).u64(body.object_bytes).u32(body.chunk_bytes);
    out.u64(body.source_time_us).u8(body.parities);
    invariant(body.awaited.size() <= kMaxAwaitedRuns, "a set of ranks fits its packet");
    out.u8(static_cast<std::uint8_t>(body.awaited.size()));
    write_ranks(out, body.awaited);
    invariant(body.descriptors.size() <= kMaxOfferedDescriptors, "an OFFER has few of them");
    out.u8(static_cast<std::uint8_t>(body.descriptors.size()));
    for (const Descriptor& descriptor : body.descriptors) {
        write_descriptor(out, descriptor);
    }
    write_representatives(out, body.representatives);
    return out.take();
}

std::optional<Offer> read_offer(Bytes bytes) {
    ByteReader in{bytes};
    Offer body;
    body.blocks = in.u32();
    body.object_bytes = in.u64();
    body.chunk_bytes = in.u32();
    body.source_time_us = in.u64();
    body.parities = in.u8();
    const bool is_whole =
        read_lists(in, body) && read_tlvs(in, [&body](TlvType type, Bytes value) {
            return read_representatives(type, value, body.representatives);
        });
    if (!is_whole) {
        return std::nullopt;
    }
    const bool sane = body.blocks >= 1 && body.chunk_bytes >= kMinChunkBytes &&
                      body.chunk_bytes <= kMaxChunkBytes && body.parities <= kMaxParities &&
                      body.object_bytes >= 1 &&
                      body.object_bytes <= std::uint64_t{body.blocks} * kBlockBytes;
    return sane ? std::optional{body} : std::nullopt;
}

std::vector<std::byte> write(const Ready& body) {
    return ByteWriter{}.u64(body.source_time_us).u32(body.hold_us).u32(body.held).take();
}

std::optional<Ready> read_ready(Bytes bytes) {
    ByteReader in{bytes};
    Ready body;
    body.source_time_us = in.u64();
    body.hold_us = in.u32();
    body.held = in.u32();
    return read_tlvs(in) ? std::optional{body} : std::nullopt;
}

std::vector<std::byte> write(const Request& body) {
    ByteWriter out;
    out.u32(body.id);
    write_runs(out, body.runs);
    return out.take();
}

std::optional<Request> read_request(Bytes bytes) {
    ByteReader in{bytes};
    Request body;
    body.id = in.u32();
    auto runs = read_runs(in);
    if (!runs || runs->empty() || !read_tlvs(in)) {
        return std::nullopt;
    }
    body.runs = std::move(*runs);
    return body;
}

std::vector<std::byte> write(const Report& body) {
    ByteWriter out;
    out.u64(body.mark).u64(body.mark_at_ns).u32(body.span).u32(body.span_ns);
    out.u32(body.received).u32(body.drain).u32(body.overflow).u8(body.fill);
    out.u32(body.hold_us).u32(body.heard).u32(body.blocks_held).u32(body.placed);
    write_runs(out, body.missing);
    if (body.ecn) {
        ByteWriter value;
        value.u32(body.ecn->ect0).u32(body.ecn->ect1).u32(body.ecn->ce);
        write_tlv(out, TlvType::ecn, value.view());
    }
    return out.take();
}

namespace {

TlvUse read_ecn(TlvType type, Bytes value, std::optional<EcnCounts>& ecn) {
    if (type != TlvType::ecn) {
        return TlvUse::unknown;
    }
    ByteReader in{value};
    EcnCounts counts;
    counts.ect0 = in.u32();
    counts.ect1 = in.u32();
    counts.ce = in.u32();
    ecn = counts;
    return in.ok() ? TlvUse::taken : TlvUse::invalid;
}

}  // namespace

std::optional<Report> read_report(Bytes bytes) {
    ByteReader in{bytes};
    Report body;
    body.mark = in.u64();
    body.mark_at_ns = in.u64();
    body.span = in.u32();
    body.span_ns = in.u32();
    body.received = in.u32();
    body.drain = in.u32();
    body.overflow = in.u32();
    body.fill = in.u8();
    body.hold_us = in.u32();
    body.heard = in.u32();
    body.blocks_held = in.u32();
    body.placed = in.u32();
    auto runs = read_runs(in);
    if (!runs) {
        return std::nullopt;
    }
    body.missing = std::move(*runs);
    const bool is_sane = read_tlvs(
        in, [&body](TlvType type, Bytes value) { return read_ecn(type, value, body.ecn); });
    return is_sane ? std::optional{std::move(body)} : std::nullopt;
}

std::vector<std::byte> write(const Done& body) {
    invariant(body.ranks.size() <= kMaxRankRuns, "a set of ranks fits its packet");
    ByteWriter out;
    out.u16(static_cast<std::uint16_t>(body.ranks.size()));
    write_ranks(out, body.ranks);
    return out.take();
}

std::optional<Done> read_done(Bytes bytes) {
    ByteReader in{bytes};
    const std::size_t count = in.u16();
    if (!in.ok() || count > kMaxRankRuns || in.left() < count * 4) {
        return std::nullopt;
    }
    auto ranks = read_ranks(in, count);
    return ranks && read_tlvs(in) ? std::optional{Done{.ranks = *std::move(ranks)}}
                                  : std::nullopt;
}

std::vector<std::byte> write(const Ending& body) {
    invariant(body.why.size() <= kMaxWhyBytes, "a reason fits its packet");
    invariant(
        body.dropped.size() <= kMaxDroppedRuns && body.unreached.size() <= kMaxUnreachedRuns,
        "a list of members fits its packet");
    ByteWriter out;
    out.u8(body.outcome).u16(body.rank.value()).text(body.why);
    if (body.dropped_all > 0) {
        ByteWriter value;
        value.u16(body.dropped_all).u8(static_cast<std::uint8_t>(body.dropped.size()));
        write_ranks(value, body.dropped);
        write_tlv(out, TlvType::dropped, value.view());
    }
    if (body.relay_degree > 0) {
        write_tlv(out, TlvType::relay, ByteWriter{}.u8(body.relay_degree).take());
    }
    if (!body.unreached.empty()) {
        ByteWriter value;
        write_ranks(value, body.unreached);
        write_tlv(out, TlvType::unreached, value.view());
    }
    return out.take();
}

namespace {

TlvUse read_relay(Bytes value, Ending& body) {
    ByteReader in{value};
    body.relay_degree = in.u8();
    return in.ok() && body.relay_degree > 0 ? TlvUse::taken : TlvUse::invalid;
}

TlvUse read_unreached(Bytes value, Ending& body) {
    ByteReader in{value};
    auto ranks = read_ranks(in, std::min(value.size() / 4, kMaxUnreachedRuns));
    if (!ranks || ranks->empty()) {
        return TlvUse::invalid;
    }
    body.unreached = *std::move(ranks);
    return TlvUse::taken;
}

TlvUse read_dropped(Bytes value, Ending& body) {
    ByteReader in{value};
    body.dropped_all = in.u16();
    const std::size_t count = in.u8();
    auto ranks = read_ranks(in, std::min(count, kMaxDroppedRuns));
    if (!in.ok() || !ranks || body.dropped_all == 0) {
        return TlvUse::invalid;
    }
    body.dropped = *std::move(ranks);
    return TlvUse::taken;
}

TlvUse read_of_ending(TlvType type, Bytes value, Ending& body) {
    switch (type) {
        case TlvType::dropped:
            return read_dropped(value, body);
        case TlvType::relay:
            return read_relay(value, body);
        case TlvType::unreached:
            return read_unreached(value, body);
        default:
            return TlvUse::unknown;
    }
}

}  // namespace

std::optional<Ending> read_ending(Bytes bytes) {
    ByteReader in{bytes};
    Ending body;
    body.outcome = in.u8();
    body.rank = Rank{in.u16()};
    body.why = in.text(kMaxWhyBytes);
    const bool is_sane = read_tlvs(
        in, [&body](TlvType type, Bytes value) { return read_of_ending(type, value, body); });
    return is_sane && body.outcome <= Ending::kNodes ? std::optional{std::move(body)}
                                                     : std::nullopt;
}

std::vector<std::byte> write(const End& body) {
    return ByteWriter{}.u32(body.blocks).take();
}

std::optional<End> read_end(Bytes bytes) {
    ByteReader in{bytes};
    End body;
    body.blocks = in.u32();
    return read_tlvs(in) && body.blocks >= 1 ? std::optional{body} : std::nullopt;
}

std::vector<std::byte> write(const Pulse& body) {
    ByteWriter out;
    out.u64(body.sent_at_ns).u32(body.packets).u32(body.block.value()).u16(body.chunk);
    out.u32(body.queue_us).u16(body.away).u32(body.echo);
    if (!body.joined.empty()) {
        invariant(body.joined.size() <= kMaxRankRuns, "a set of ranks fits its packet");
        ByteWriter value;
        write_ranks(value, body.joined);
        write_tlv(out, TlvType::joined, value.view());
    }
    return out.take();
}

namespace {

/// In order and apart, as a set of ranks gives them: the parent keeps them, and adds all up
/// with each PULSE of its own.
bool ascend(const std::vector<RankRun>& ranks) {
    return std::ranges::adjacent_find(ranks, [](const RankRun& one, const RankRun& next) {
               return next.first <= one.last;
           }) == ranks.end();
}

TlvUse read_joined(TlvType type, Bytes value, Pulse& body) {
    if (type != TlvType::joined) {
        return TlvUse::unknown;
    }
    ByteReader in{value};
    auto ranks = read_ranks(in, std::min(value.size() / 4, kMaxRankRuns));
    if (!ranks || ranks->empty() || !ascend(*ranks)) {
        return TlvUse::invalid;
    }
    body.joined = *std::move(ranks);
    return TlvUse::taken;
}

}  // namespace

std::optional<Pulse> read_pulse(Bytes bytes) {
    ByteReader in{bytes};
    Pulse body;
    body.sent_at_ns = in.u64();
    body.packets = in.u32();
    body.block = BlockIndex{in.u32()};
    body.chunk = in.u16();
    body.queue_us = in.u32();
    body.away = in.u16();
    body.echo = in.u32();
    const bool is_sane = read_tlvs(
        in, [&body](TlvType type, Bytes value) { return read_joined(type, value, body); });
    return is_sane ? std::optional{std::move(body)} : std::nullopt;
}

std::vector<std::byte> write(const Left& body) {
    return ByteWriter{}.u32(body.id).u8(static_cast<std::uint8_t>(body.standing)).take();
}

std::optional<Left> read_left(Bytes bytes) {
    ByteReader in{bytes};
    Left body;
    body.id = in.u32();
    const std::uint8_t standing = in.u8();
    body.standing = static_cast<Standing>(standing);
    const bool is_known = standing <= static_cast<std::uint8_t>(Standing::unreachable);
    return read_tlvs(in) && is_known && body.id >= 1 ? std::optional{body} : std::nullopt;
}

}  // namespace stage::wire

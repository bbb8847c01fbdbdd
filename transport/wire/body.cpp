#include "transport/wire/body.h"

#include "transport/base/codec.h"
#include "transport/base/fields.h"
#include "transport/base/invariant.h"
#include "transport/wire/packet.h"
#include "transport/wire/tlv.h"

#include <algorithm>

namespace stage::wire {
namespace {

/// Writes those TLVs of a body that are present.
class TlvWriter {
  public:
    explicit TlvWriter(ByteWriter& out) : out_{out} {}

    /// A TLV whose value has the fields that `each(on)` describes.
    template <class Each>
    TlvWriter& tlv(TlvType type, bool is_present, Each each) {
        if (is_present) {
            ByteWriter value;
            FieldWriter on{value};
            each(on);
            write_tlv(out_, type, value.view());
        }
        return *this;
    }
    template <class Value>
    TlvWriter& tlv(TlvType type, const std::optional<Value>& value) {
        return tlv(type, value.has_value(), [&value](auto& on) { fields(on, *value); });
    }

  private:
    ByteWriter& out_;
};

/// Reads one TLV into the body that describes its type. As TlvWriter, TLV by TLV.
class TlvReader {
  public:
    TlvReader(TlvType type, Bytes value) : type_{type}, value_{value} {}

    template <class Each>
    TlvReader& tlv(TlvType type, bool /*is_present*/, Each each) {
        if (type == type_) {
            ByteReader in{value_};
            FieldReader on{in};
            each(on);
            use_ = in.ok() ? TlvUse::taken : TlvUse::invalid;
        }
        return *this;
    }
    template <class Value>
    TlvReader& tlv(TlvType type, std::optional<Value>& value) {
        return tlv(type, true, [&value](auto& on) { fields(on, value.emplace()); });
    }

    [[nodiscard]] TlvUse use() const { return use_; }

  private:
    TlvType type_;
    Bytes value_;
    TlvUse use_ = TlvUse::unknown;
};

void block(FieldWriter& on, BlockIndex index) {
    on.number(index.value());
}

void block(FieldReader& on, BlockIndex& index) {
    std::uint32_t value = 0;
    on.number(value);
    index = BlockIndex{value};
}

/// A count, then at most `most` elements.
template <class Count = std::uint8_t>
void bounded(auto& on, auto& all, std::size_t most) {
    invariant(all.size() <= most, "a list fits its packet");
    on.template list<Count>(all, most, [](auto& each, auto& one) { fields(each, one); });
}

void put_ranks(ByteWriter& out, const std::vector<RankRun>& ranks) {
    for (const RankRun& run : ranks) {
        out.u16(run.first.value()).u16(run.last.value());
    }
}

std::vector<RankRun> take_ranks(ByteReader& in, std::size_t count) {
    std::vector<RankRun> ranks(count);
    FieldReader on{in};
    for (RankRun& run : ranks) {
        on.number(run.first).number(run.last).require(run.first <= run.last);
    }
    return ranks;
}

/// A list of runs that takes the whole of its TLV. What exceeds `most` is left out.
void ranks_to_end(auto& on, auto& ranks, std::size_t most) {
    invariant(ranks.size() <= most, "a list of members fits its packet");
    on.with(ranks, put_ranks, [most](ByteReader& in) {
        return take_ranks(in, std::min(in.left() / 4, most));
    });
    on.require(!ranks.empty());
}

/// A count, then runs, of which a reader takes the first kMaxDroppedRuns.
void put_dropped(ByteWriter& out, const std::vector<RankRun>& ranks) {
    put_ranks(out.u8(static_cast<std::uint8_t>(ranks.size())), ranks);
}

std::vector<RankRun> take_dropped(ByteReader& in) {
    return take_ranks(in, std::min<std::size_t>(in.u8(), kMaxDroppedRuns));
}

bool is_sound(const Descriptor& descriptor) {
    const bool is_hole = descriptor.encoding == Encoding::hole;
    const bool is_raw = descriptor.encoding == Encoding::raw;
    return descriptor.length >= 1 && descriptor.length <= kBlockBytes &&
           descriptor.wire_length <= kBlockBytes && is_hole == (descriptor.wire_length == 0) &&
           (!is_raw || descriptor.wire_length == descriptor.length);
}

/// In order and apart, as a set of ranks gives them: the parent keeps them, and adds all up
/// with each PULSE of its own.
bool ascend(const std::vector<RankRun>& ranks) {
    return std::ranges::adjacent_find(ranks, [](const RankRun& one, const RankRun& next) {
               return next.first <= one.last;
           }) == ranks.end();
}

}  // namespace

// ----------------------------------------------------------------- the fields of each body

void fields(auto& on, Like<Descriptor> auto& descriptor) {
    on.number(descriptor.length).number(descriptor.wire_length);
    on.choice(descriptor.encoding, Encoding::zstd).raw(descriptor.leaf);
    on.require(is_sound(descriptor));
}

void fields(auto& on, Like<RankRun> auto& run) {
    on.number(run.first).number(run.last).require(run.first <= run.last);
}

void fields(auto& on, Like<ChunkRun> auto& run) {
    block(on, run.block);
    on.number(run.first).number(run.count);
    on.require(unsigned{run.first} + run.count <= 0x10000U);
}

void fields(auto& on, Like<Representatives> auto& set) {
    invariant(set.ranks.size() <= kMaxRepresentatives, "a set of members fits its packet");
    on.number(set.version)
        .template list<std::uint8_t>(
            set.ranks, kMaxRepresentatives, [](auto& each, auto& rank) { each.number(rank); });
    on.require(set.version > 0);
}

void fields(auto& on, Like<EcnCounts> auto& ecn) {
    on.number(ecn.ect0).number(ecn.ect1).number(ecn.ce);
}

void fields(auto& on, Like<Describe> auto& body) {
    block(on, body.first);
    bounded(on, body.descriptors, kMaxDescriptors);
    on.require(!body.descriptors.empty() &&
               body.first.value() <= 0xffffffffU - body.descriptors.size());
}

void fields(auto& on, Like<Offer> auto& body) {
    on.number(body.blocks).number(body.object_bytes).number(body.chunk_bytes);
    on.number(body.source_time_us).number(body.parities);
    bounded(on, body.awaited, kMaxAwaitedRuns);
    bounded(on, body.descriptors, kMaxOfferedDescriptors);
    on.require(body.descriptors.empty() || body.descriptors.size() == body.blocks);
    on.require(body.blocks >= 1 && body.parities <= kMaxParities);
    on.require(body.chunk_bytes >= kMinChunkBytes && body.chunk_bytes <= kMaxChunkBytes);
    on.require(body.object_bytes >= 1 &&
               body.object_bytes <= std::uint64_t{body.blocks} * kBlockBytes);
}

void fields(auto& on, Like<Ready> auto& body) {
    on.number(body.source_time_us).number(body.hold_us).number(body.held);
}

void fields(auto& on, Like<Request> auto& body) {
    on.number(body.id);
    bounded(on, body.runs, kMaxRuns);
    on.require(!body.runs.empty());
}

void fields(auto& on, Like<Report> auto& body) {
    on.number(body.mark).number(body.mark_at_ns).number(body.span).number(body.span_ns);
    on.number(body.received).number(body.drain).number(body.overflow).number(body.fill);
    on.number(body.hold_us).number(body.heard).number(body.blocks_held).number(body.placed);
    bounded(on, body.missing, kMaxRuns);
}

void fields(auto& on, Like<Done> auto& body) {
    bounded<std::uint16_t>(on, body.ranks, kMaxRankRuns);
}

void fields(auto& on, Like<Ending> auto& body) {
    invariant(body.why.size() <= kMaxWhyBytes, "a reason fits its packet");
    on.number(body.outcome).number(body.rank).any_text(body.why, kMaxWhyBytes);
    on.require(body.outcome <= Ending::kNodes);
}

void fields(auto& on, Like<End> auto& body) {
    on.number(body.blocks).require(body.blocks >= 1);
}

void fields(auto& on, Like<Pulse> auto& body) {
    on.number(body.sent_at_ns).number(body.packets);
    block(on, body.block);
    on.number(body.chunk).number(body.queue_us).number(body.away).number(body.echo);
}

void fields(auto& on, Like<Left> auto& body) {
    on.number(body.id).choice(body.standing, Standing::unreachable).require(body.id >= 1);
}

// ------------------------------------------------------------------- the TLVs of each body

void tlvs(auto& /*on*/, auto& /*body*/) {
}

void tlvs(auto& on, Like<Describe> auto& body) {
    on.tlv(TlvType::representatives, body.representatives);
}

void tlvs(auto& on, Like<Offer> auto& body) {
    on.tlv(TlvType::representatives, body.representatives);
}

void tlvs(auto& on, Like<Report> auto& body) {
    on.tlv(TlvType::ecn, body.ecn);
}

void tlvs(auto& on, Like<Ending> auto& body) {
    invariant(body.dropped.size() <= kMaxDroppedRuns, "a list of members fits its packet");
    on.tlv(TlvType::dropped, body.dropped_all > 0, [&body](auto& value) {
        value.number(body.dropped_all).with(body.dropped, put_dropped, take_dropped);
        value.require(body.dropped_all > 0);
    });
    on.tlv(TlvType::relay, body.relay_degree > 0, [&body](auto& value) {
        value.number(body.relay_degree).require(body.relay_degree > 0);
    });
    on.tlv(TlvType::unreached, !body.unreached.empty(), [&body](auto& value) {
        ranks_to_end(value, body.unreached, kMaxUnreachedRuns);
    });
}

void tlvs(auto& on, Like<Pulse> auto& body) {
    on.tlv(TlvType::joined, !body.joined.empty(), [&body](auto& value) {
        ranks_to_end(value, body.joined, kMaxRankRuns);
        value.require(ascend(body.joined));
    });
    on.tlv(
        TlvType::gained, body.gained > 0, [&body](auto& value) { value.number(body.gained); });
}

namespace {

template <class Body>
std::vector<std::byte> written(const Body& body) {
    ByteWriter out;
    FieldWriter on{out};
    fields(on, body);
    TlvWriter with{out};
    tlvs(with, body);
    return out.take();
}

template <class Body>
std::optional<Body> read(Bytes bytes) {
    ByteReader in{bytes};
    FieldReader on{in};
    std::optional<Body> body{std::in_place};
    fields(on, *body);
    const bool is_sound = read_tlvs(in, [&body](TlvType type, Bytes value) {
        TlvReader with{type, value};
        tlvs(with, *body);
        return with.use();
    });
    return is_sound ? std::move(body) : std::nullopt;
}

}  // namespace

void append(std::vector<std::byte>& body, const Representatives& representatives) {
    ByteWriter out;
    TlvWriter{out}.tlv(TlvType::representatives, std::optional{representatives});
    const auto tlv = out.take();
    body.insert(body.end(), tlv.begin(), tlv.end());
}

std::vector<std::byte> write(const Describe& body) {
    invariant(!body.descriptors.empty(), "a DESCRIBE has at least one descriptor");
    return written(body);
}
std::vector<std::byte> write(const Offer& body) {
    return written(body);
}
std::vector<std::byte> write(const Ready& body) {
    return written(body);
}
std::vector<std::byte> write(const Request& body) {
    return written(body);
}
std::vector<std::byte> write(const Report& body) {
    return written(body);
}
std::vector<std::byte> write(const Done& body) {
    return written(body);
}
std::vector<std::byte> write(const Ending& body) {
    return written(body);
}
std::vector<std::byte> write(const End& body) {
    return written(body);
}
std::vector<std::byte> write(const Pulse& body) {
    return written(body);
}
std::vector<std::byte> write(const Left& body) {
    return written(body);
}

std::optional<Describe> read_describe(Bytes body) {
    return read<Describe>(body);
}
std::optional<Offer> read_offer(Bytes body) {
    return read<Offer>(body);
}
std::optional<Ready> read_ready(Bytes body) {
    return read<Ready>(body);
}
std::optional<Request> read_request(Bytes body) {
    return read<Request>(body);
}
std::optional<Report> read_report(Bytes body) {
    return read<Report>(body);
}
std::optional<Done> read_done(Bytes body) {
    return read<Done>(body);
}
std::optional<Ending> read_ending(Bytes body) {
    return read<Ending>(body);
}
std::optional<End> read_end(Bytes body) {
    return read<End>(body);
}
std::optional<Pulse> read_pulse(Bytes body) {
    return read<Pulse>(body);
}
std::optional<Left> read_left(Bytes body) {
    return read<Left>(body);
}

}  // namespace stage::wire

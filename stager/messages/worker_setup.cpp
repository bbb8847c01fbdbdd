#include "stager/messages/worker_setup.h"

#include "stager/control/fields.h"

#include <algorithm>

namespace stage {
namespace {

enum class Type : std::uint8_t {
    setup = 1,
    abort = 2,
    cards = 3,
    release = 4,
    cache_reply = 5,
    listening = 6,
    progress = 65,
    card = 66,
    outcome = 67,
    released = 68,
    look = 69,
    ask = 70,
    keep = 71,
    spoilt = 72,
    seek = 73,
    begun = 74,
    left = 75,
};

ByteWriter begin(Type type) {
    ByteWriter writer;
    writer.u8(kWorkerVersion).u8(static_cast<std::uint8_t>(type));
    return writer;
}

void put_names(ByteWriter& writer, const std::vector<std::string>& names, std::size_t limit) {
    writer.u32(static_cast<std::uint32_t>(names.size()));
    for (const std::string& name : names) {
        put_text(writer, name, limit);
    }
}

void put_milliseconds(ByteWriter& writer, std::chrono::milliseconds time) {
    writer.u64(static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count())));
}

/// At most `count_max` texts. The count is trusted only as far as there are bytes for it.
std::vector<std::string> take_names(ByteReader& reader,
                                    std::size_t count_max,
                                    std::size_t limit) {
    std::vector<std::string> names;
    const std::size_t count = reader.u32();
    if (count > count_max || count > reader.left() / sizeof(std::uint32_t)) {
        reader.fail();
        return names;
    }
    names.reserve(count);
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        names.push_back(take_text(reader, limit));
    }
    return names;
}

std::chrono::milliseconds take_milliseconds(ByteReader& reader) {
    constexpr std::uint64_t kYear = 366ULL * 86400U * 1000U;
    return std::chrono::milliseconds{static_cast<std::int64_t>(std::min(reader.u64(), kYear))};
}

std::vector<std::byte> take_blob(ByteReader& reader, std::size_t limit) {
    const Bytes bytes = reader.blob(limit);
    return {bytes.begin(), bytes.end()};
}

template <std::size_t Count>
void take_array(ByteReader& reader, std::array<std::byte, Count>& target) {
    const Bytes bytes = reader.raw(Count);
    std::copy(bytes.begin(), bytes.end(), target.begin());
}

std::array<std::byte, 32> take_stamp(ByteReader& reader) {
    std::array<std::byte, 32> stamp{};
    take_array(reader, stamp);
    return stamp;
}

// ---- encoding

void put(ByteWriter& writer, const WorkerSetup& setup) {
    invariant(setup.nodes.size() <= kMaxMembers, "a rank has 16 bits");
    put_key(writer, setup.key);
    writer.u16(setup.rank.value()).u16(setup.source.value());
    put_names(writer, setup.nodes, kMaxNameBytes);
    put_text(writer, setup.specs, kMaxSpecsBytes);
    put_text(writer, setup.work_dir, kMaxPathBytes);
    put_text(writer, setup.stage_dir, kMaxPathBytes);
    put_text(writer, setup.dest_subdir, kMaxPathBytes);
    put_names(writer, setup.dest_roots, kMaxPathBytes);
    writer.u64(setup.max_bytes).raw(setup.session).raw(setup.group_key);
    put_text(writer, setup.group_address, kMaxNameBytes);
    writer.u16(setup.group_port);
    writer.u8(setup.group_rails);
    put_names(writer, setup.interfaces, kMaxNameBytes);
    writer.u8(setup.protection).u64(setup.rate_max);
    writer.u8(setup.rate_is_configured ? 1 : 0).u8(encode(setup.policies));
    writer.u8(setup.may_compress ? 1 : 0);
    put_text(writer, setup.transport, kMaxNameBytes);
    for (const auto time :
         {setup.stage_timeout, setup.stall_timeout, setup.connect_timeout, setup.linger}) {
        put_milliseconds(writer, time);
    }
    writer.u32(setup.array_job_id).u32(setup.array_task_id).u8(setup.cards_follow ? 1 : 0);
    put_enum(writer, setup.purpose);
    invariant(setup.manifest.size() <= kMaxLookBytes,
              "a manifest for a preflight check is short");
    writer.blob(setup.manifest);
    writer.u8(setup.keeps_owners ? 1 : 0).u8(setup.may_cache ? 1 : 0);
}

void put(ByteWriter& writer, const WorkerAbort& abort) {
    put_enum(writer, abort.blame);
    put_cut(writer, abort.sentence, kMaxSentenceBytes);
}

void put(ByteWriter& writer, const WorkerCards& cards) {
    invariant(cards.table.size() <= kMaxCardTableBytes, "a table of cards fits its field");
    writer.blob(cards.table);
}

void put(ByteWriter& /*writer*/, const WorkerRelease& /*release*/) {
}

void put(ByteWriter& /*writer*/, const WorkerListening& /*listening*/) {
}

void put(ByteWriter& writer, const WorkerProgress& progress) {
    put_enum(writer, progress.phase);
    writer.u64(progress.bytes).u64(progress.bytes_total);
}

void put(ByteWriter& writer, const WorkerCard& card) {
    invariant(card.card.size() <= kMaxCardBytes, "a card fits its field");
    writer.blob(card.card);
}

void put(ByteWriter& writer, const WorkerOutcome& outcome) {
    put_enum(writer, outcome.state);
    put_enum(writer, outcome.blame);
    put_cut(writer, outcome.sentence, kMaxSentenceBytes);
    writer.u16(outcome.culprit.value());
    invariant(outcome.paths.size() <= kMaxSpecs, "a stage has at most kMaxSpecs paths");
    put_names(writer, outcome.paths, kMaxPathBytes);
    put_names(writer, outcome.library_directories, kMaxPathBytes);
    put_names(writer, outcome.directories, kMaxPathBytes);
    put_cut(writer, outcome.statistics, kMaxStatisticsBytes);
}

void put(ByteWriter& writer, const WorkerReleased& released) {
    put_cut(writer, released.statistics, kMaxStatisticsBytes);
}

void put(ByteWriter& writer, const WorkerLook& look) {
    invariant(look.manifest.size() <= kMaxLookBytes,
              "a manifest for a preflight check is short");
    writer.blob(look.manifest).u64(look.bytes);
    put_text(writer, look.digest, kMaxNameBytes);
}

void put(ByteWriter& writer, const WorkerCacheReply& reply) {
    writer.blob(reply.about).blob(reply.content);
}

void put(ByteWriter& writer, const WorkerAsk& ask) {
    writer.blob(ask.about);
}

void put(ByteWriter& writer, const WorkerKeep& keep) {
    writer.raw(keep.stamp).raw(keep.sum).u64(keep.bytes);
}

void put(ByteWriter& writer, const WorkerSpoilt& spoilt) {
    writer.blob(spoilt.content);
}

void put(ByteWriter& writer, const WorkerSeek& seek) {
    writer.raw(seek.stamp);
}

void put(ByteWriter& writer, const WorkerBegun& begun) {
    writer.raw(begun.stamp).u64(begun.bytes);
}

void put(ByteWriter& writer, const WorkerLeft& left) {
    put_names(writer, left.entries, kMaxEntryBytes);
}

template <class Message>
constexpr Type kType = Type::setup;
template <>
constexpr Type kType<WorkerAbort> = Type::abort;
template <>
constexpr Type kType<WorkerCards> = Type::cards;
template <>
constexpr Type kType<WorkerRelease> = Type::release;
template <>
constexpr Type kType<WorkerListening> = Type::listening;
template <>
constexpr Type kType<WorkerProgress> = Type::progress;
template <>
constexpr Type kType<WorkerCard> = Type::card;
template <>
constexpr Type kType<WorkerOutcome> = Type::outcome;
template <>
constexpr Type kType<WorkerReleased> = Type::released;
template <>
constexpr Type kType<WorkerLook> = Type::look;
template <>
constexpr Type kType<WorkerCacheReply> = Type::cache_reply;
template <>
constexpr Type kType<WorkerAsk> = Type::ask;
template <>
constexpr Type kType<WorkerKeep> = Type::keep;
template <>
constexpr Type kType<WorkerSpoilt> = Type::spoilt;
template <>
constexpr Type kType<WorkerSeek> = Type::seek;
template <>
constexpr Type kType<WorkerBegun> = Type::begun;
template <>
constexpr Type kType<WorkerLeft> = Type::left;

template <class Message>
std::vector<std::byte> encode_any(const Message& message) {
    return std::visit(
        [](const auto& one) {
            ByteWriter writer = begin(kType<std::decay_t<decltype(one)>>);
            put(writer, one);
            return writer.take();
        },
        message);
}

// ---- decoding

WorkerSetup take_setup(ByteReader& reader) {
    WorkerSetup setup;
    setup.key = take_key(reader);
    setup.rank = Rank{reader.u16()};
    setup.source = Rank{reader.u16()};
    setup.nodes = take_names(reader, kMaxMembers, kMaxNameBytes);
    setup.specs = reader.text(kMaxSpecsBytes);
    setup.work_dir = take_text(reader, kMaxPathBytes);
    setup.stage_dir = take_text(reader, kMaxPathBytes);
    setup.dest_subdir = take_text(reader, kMaxPathBytes);
    setup.dest_roots = take_names(reader, kMaxSpecs, kMaxPathBytes);
    setup.max_bytes = reader.u64();
    take_array(reader, setup.session);
    take_array(reader, setup.group_key);
    setup.group_address = take_text(reader, kMaxNameBytes);
    setup.group_port = reader.u16();
    setup.group_rails = reader.u8();
    setup.interfaces = take_names(reader, kPolicyRailsMax, kMaxNameBytes);
    setup.protection = reader.u8();
    setup.rate_max = reader.u64();
    setup.rate_is_configured = reader.u8() != 0;
    setup.policies = decode_policies(reader.u8());
    setup.may_compress = reader.u8() != 0;
    setup.transport = take_text(reader, kMaxNameBytes);
    setup.stage_timeout = take_milliseconds(reader);
    setup.stall_timeout = take_milliseconds(reader);
    setup.connect_timeout = take_milliseconds(reader);
    setup.linger = take_milliseconds(reader);
    setup.array_job_id = reader.u32();
    setup.array_task_id = reader.u32();
    setup.cards_follow = reader.u8() != 0;
    setup.purpose = take_enum(reader, WorkerPurpose::compare);
    setup.manifest = take_blob(reader, kMaxLookBytes);
    setup.keeps_owners = reader.u8() != 0;
    setup.may_cache = reader.u8() != 0;
    if (setup.rank.index() >= setup.nodes.size() ||
        setup.source.index() >= setup.nodes.size() || setup.protection > 2 ||
        setup.group_rails < 1 || setup.interfaces.size() > setup.policies.flows) {
        reader.fail();
    }
    return setup;
}

WorkerOutcome take_outcome(ByteReader& reader) {
    WorkerOutcome outcome;
    outcome.state = take_enum(reader, VerdictState::failed);
    outcome.blame = take_enum(reader, Blame::internal);
    outcome.sentence = take_text(reader, kMaxSentenceBytes);
    outcome.culprit = Rank{reader.u16()};
    outcome.paths = take_names(reader, kMaxSpecs, kMaxPathBytes);
    outcome.library_directories = take_names(reader, kMaxSpecs, kMaxPathBytes);
    outcome.directories = take_names(reader, kMaxDirectories, kMaxPathBytes);
    outcome.statistics = take_text(reader, kMaxStatisticsBytes);
    return outcome;
}

/// The message's type, if its version is ours.
std::optional<Type> take_head(ByteReader& reader) {
    const bool is_ours = reader.u8() == kWorkerVersion;
    const auto type = static_cast<Type>(reader.u8());
    return reader.ok() && is_ours ? std::optional{type} : std::nullopt;
}

std::optional<ToWorker> take_to_worker(ByteReader& reader, Type type) {
    switch (type) {
        case Type::setup:
            return take_setup(reader);
        case Type::abort: {
            const Blame blame = take_enum(reader, Blame::internal);
            return WorkerAbort{blame, take_text(reader, kMaxSentenceBytes)};
        }
        case Type::cards:
            return WorkerCards{take_blob(reader, kMaxCardTableBytes)};
        case Type::release:
            return WorkerRelease{};
        case Type::listening:
            return WorkerListening{};
        case Type::cache_reply: {
            std::vector<std::byte> about = take_blob(reader, kMaxCacheNameBytes);
            return WorkerCacheReply{std::move(about), take_blob(reader, kMaxCacheNameBytes)};
        }
        default:
            return std::nullopt;
    }
}

std::optional<FromWorker> take_from_worker(ByteReader& reader, Type type) {
    switch (type) {
        case Type::progress: {
            const WorkerPhase phase = take_enum(reader, WorkerPhase::serve);
            const std::uint64_t bytes = reader.u64();
            return WorkerProgress{phase, bytes, reader.u64()};
        }
        case Type::card:
            return WorkerCard{take_blob(reader, kMaxCardBytes)};
        case Type::outcome:
            return take_outcome(reader);
        case Type::released:
            return WorkerReleased{take_text(reader, kMaxStatisticsBytes)};
        case Type::look: {
            std::vector<std::byte> manifest = take_blob(reader, kMaxLookBytes);
            const std::uint64_t bytes = reader.u64();
            return WorkerLook{std::move(manifest), bytes, take_text(reader, kMaxNameBytes)};
        }
        case Type::ask:
            return WorkerAsk{take_blob(reader, kMaxCacheNameBytes)};
        case Type::keep: {
            WorkerKeep keep;
            take_array(reader, keep.stamp);
            take_array(reader, keep.sum);
            keep.bytes = reader.u64();
            return keep;
        }
        case Type::spoilt:
            return WorkerSpoilt{take_blob(reader, kMaxCacheNameBytes)};
        case Type::seek:
            return WorkerSeek{take_stamp(reader)};
        case Type::begun:  // (Braces keep the order.)
            return WorkerBegun{take_stamp(reader), reader.u64()};
        case Type::left:
            return WorkerLeft{take_names(reader, kMaxEntries, kMaxEntryBytes)};
        default:
            return std::nullopt;
    }
}

}  // namespace

std::vector<std::byte> encode_to_worker(const ToWorker& message) {
    return encode_any(message);
}

std::vector<std::byte> encode_from_worker(const FromWorker& message) {
    return encode_any(message);
}

Result<ToWorker> decode_to_worker(Bytes message) {
    ByteReader reader{message};
    const std::optional<Type> type = take_head(reader);
    std::optional<ToWorker> taken =
        type ? take_to_worker(reader, *type) : std::optional<ToWorker>{};
    if (!taken || !reader.finished()) {
        return Error{Blame::internal, "malformed or unknown message from stagecastd"};
    }
    return std::move(*taken);
}

Result<FromWorker> decode_from_worker(Bytes message) {
    ByteReader reader{message};
    const std::optional<Type> type = take_head(reader);
    std::optional<FromWorker> taken =
        type ? take_from_worker(reader, *type) : std::optional<FromWorker>{};
    if (!taken || !reader.finished()) {
        return Error{Blame::internal, "malformed or unknown message from the worker"};
    }
    return std::move(*taken);
}

}  // namespace stage

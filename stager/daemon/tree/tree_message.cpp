#include "stager/daemon/tree/tree_message.h"

#include "stager/control/fields.h"
#include "stager/daemon/tree/plan.h"
#include "stager/messages/worker_setup.h"
#include "stager/slurm/host_list.h"

#include <algorithm>
#include <array>
#include <variant>

namespace stage {
namespace {

enum class Type : std::uint8_t {
    setup = 1,
    gathered = 2,
    result = 3,
    failed = 4,
    verdict = 5,
    settled = 6,
    pulse = 7,
    ask = 8,
    tell = 9,
    direct = 10,
    examine = 11,
    examined = 12,
    lease = 13,
    leased = 14,
    held = 15,
    fetch = 16,
    found = 17,
    take = 18,
    question = 19,
    report = 20,
    ports = 21,
};

/// Bytes of a plan with kMaxNodes names and addresses, and of a fence's result.
constexpr std::size_t kMaxPlanBytes = 3U << 20U;
constexpr std::size_t kMaxResultBytes = 4U << 20U;

/// The types in the order of TreeMessage.
constexpr std::array kTypes{
    Type::setup,  Type::gathered, Type::result, Type::failed, Type::verdict, Type::settled,
    Type::pulse,  Type::ask,      Type::tell,   Type::direct, Type::examine, Type::examined,
    Type::lease,  Type::leased,   Type::held,   Type::fetch,  Type::found,   Type::question,
    Type::report, Type::take,     Type::ports};
static_assert(kTypes.size() == std::variant_size_v<TreeMessage>);

void put(ByteWriter& writer, const SetupMessage& message) {
    put_key(writer, message.key);
    writer.u16(message.from.value()).u16(message.to.value());
    writer.u32(message.remaining_ms).blob(message.plan);
}

void put(ByteWriter& writer, const GatheredMessage& message) {
    writer.u8(static_cast<std::uint8_t>(message.kind)).u32(message.sequence);
    put_contributions(writer, message.contributions);
}

void put(ByteWriter& writer, const ResultMessage& message) {
    writer.u8(static_cast<std::uint8_t>(message.kind)).u32(message.sequence);
    writer.blob(message.bytes);
}

void put(ByteWriter& writer, const FailedMessage& message) {
    put_failures(writer, message.failures);
}

void put(ByteWriter& writer, const GroupVerdict& message) {
    writer.u8(static_cast<std::uint8_t>(message.state));
    writer.u8(static_cast<std::uint8_t>(message.blame));
    writer.text(std::string_view{message.sentence}.substr(0, kMaxSentenceBytes));
    writer.u16(message.culprit.value());
}

void put(ByteWriter& /*writer*/, const SettledMessage& /*message*/) {
}
void put(ByteWriter& writer, const PulseMessage& message) {
    writer.u32(message.progress.done).u64(message.progress.bytes_least);
    writer.u16(message.progress.slowest.value());
}

void put(ByteWriter& /*writer*/, const DirectMessage& /*message*/) {
}

void put(ByteWriter& writer, const PortsMessage& message) {
    const std::size_t count = std::min(message.taken.size(), kTakenPortsMax);
    writer.u32(message.move).u16(message.port).u16(message.rank.value());
    writer.u16(static_cast<std::uint16_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
        writer.u16(message.taken[i]);
    }
}

void put(ByteWriter& writer, const AskMessage& message) {
    put_key(writer, message.key);
    put_request(writer, message.request);
}

void put(ByteWriter& writer, const TellMessage& message) {
    writer.u8(static_cast<std::uint8_t>(message.word));
}

void put(ByteWriter& writer, const ExamineMessage& message) {
    writer.u8(static_cast<std::uint8_t>(message.mode)).text(message.specs);
    writer.blob(message.manifest).raw(message.token);
}

void put(ByteWriter& writer, const ExaminedMessage& message) {
    writer.text(std::string_view{message.sentence}.substr(0, kMaxSentenceBytes));
    writer.u64(message.bytes).text(message.digest);
}

void put_file(ByteWriter& writer, const LeasedFile& file) {
    writer.u32(file.uid).raw(file.stamp);
}

void put(ByteWriter& writer, const LeaseMessage& message) {
    put_file(writer, message.file);
    writer.u8(message.may_wait ? 1 : 0);
}

void put(ByteWriter& writer, const LeasedMessage& message) {
    writer.text(message.node).text(message.address);
}

void put(ByteWriter& writer, const ReportQuestion& message) {
    writer.u32(message.uid).u8(static_cast<std::uint8_t>(message.request.kind));
    put_key(writer, message.request.key);
}

void put(ByteWriter& writer, const ReportMessage& message) {
    writer.blob(as_bytes(message.json));
}

void put(ByteWriter& writer, const HeldMessage& message) {
    writer.u8(message.is_held ? 1 : 0);
}

void put(ByteWriter& writer, const FetchMessage& message) {
    put_file(writer, message.file);
}

void put(ByteWriter& writer, const FoundMessage& message) {
    writer.u64(message.bytes).raw(bytes_of(message.content));
    writer.raw(message.key).raw(message.nonce_base);
}

void put(ByteWriter& /*writer*/, const TakeMessage& /*message*/) {
}

std::vector<std::byte> owned(Bytes bytes) {
    return {bytes.begin(), bytes.end()};
}

AskMessage take_ask(ByteReader& reader) {
    AskMessage message{take_key(reader)};
    message.request = take_request(reader);
    return message;
}

SetupMessage take_setup(ByteReader& reader) {
    SetupMessage message;
    message.key = take_key(reader);
    message.from = Rank{reader.u16()};
    message.to = Rank{reader.u16()};
    message.remaining_ms = reader.u32();
    message.plan = owned(reader.blob(kMaxPlanBytes));
    return message;
}

Collective take_kind(ByteReader& reader) {
    const std::uint8_t number = reader.u8();
    if (number < 1 || number > static_cast<std::uint8_t>(Collective::listening)) {
        reader.fail();
    }
    return static_cast<Collective>(number);
}

GatheredMessage take_gathered(ByteReader& reader) {
    GatheredMessage message;
    message.kind = take_kind(reader);
    message.sequence = reader.u32();
    message.contributions = take_contributions(reader, kMaxNodes);
    return message;
}

ResultMessage take_result(ByteReader& reader) {
    ResultMessage message;
    message.kind = take_kind(reader);
    message.sequence = reader.u32();
    message.bytes = owned(reader.blob(kMaxResultBytes));
    return message;
}

GroupVerdict take_verdict(ByteReader& reader) {
    const std::uint8_t state = reader.u8();
    if (state > static_cast<std::uint8_t>(VerdictState::failed)) {
        reader.fail();
    }
    return {.state = static_cast<VerdictState>(state),
            .blame = take_blame(reader),
            .sentence = reader.text(kMaxSentenceBytes),
            .culprit = Rank{reader.u16()}};
}

PulseMessage take_pulse(ByteReader& reader) {
    PulseMessage message;
    message.progress.done = reader.u32();
    message.progress.bytes_least = reader.u64();
    message.progress.slowest = Rank{reader.u16()};
    return message;
}

template <std::size_t Size>
void take_into(ByteReader& reader, std::array<std::byte, Size>& into) {
    std::ranges::copy(reader.raw(Size), into.begin());
}

ExamineMessage take_examine(ByteReader& reader) {
    ExamineMessage message;
    message.mode = take_enum(reader, PushMode::compare);
    message.specs = reader.text(kMaxSpecsBytes);
    message.manifest = owned(reader.blob(kMaxLookBytes));
    take_into(reader, message.token);
    return message;
}

ExaminedMessage take_examined(ByteReader& reader) {
    ExaminedMessage message;
    message.sentence = reader.text(kMaxSentenceBytes);
    message.bytes = reader.u64();
    message.digest = reader.text(kMaxNameBytes);
    return message;
}

LeasedFile take_file(ByteReader& reader) {
    LeasedFile file;
    file.uid = reader.u32();
    take_into(reader, file.stamp);
    return file;
}

LeaseMessage take_lease(ByteReader& reader) {
    LeaseMessage message;
    message.file = take_file(reader);
    message.may_wait = reader.u8() != 0;
    return message;
}

LeasedMessage take_leased(ByteReader& reader) {
    LeasedMessage message;
    message.node = reader.text(kMaxNameBytes);
    message.address = reader.text(kMaxNameBytes);
    return message;
}

std::optional<TreeMessage> take_question(ByteReader& reader) {
    ReportQuestion question;
    question.uid = reader.u32();
    const std::uint8_t kind = reader.u8();
    question.request.kind = static_cast<StatusKind>(kind);
    question.request.key = take_key(reader);
    return kind <= static_cast<std::uint8_t>(StatusKind::explain)
               ? std::optional<TreeMessage>{question}
               : std::nullopt;
}

ReportMessage take_report(ByteReader& reader) {
    const Bytes json = reader.blob(kMaxReportBytes);
    return {{reinterpret_cast<const char*>(json.data()), json.size()}};
}

FoundMessage take_found(ByteReader& reader) {
    FoundMessage message;
    message.bytes = reader.u64();
    if (const auto content = content_of_bytes(reader.raw(kContentBytes))) {
        message.content = *content;
    }
    take_into(reader, message.key);
    take_into(reader, message.nonce_base);
    return message;
}

PortsMessage take_ports(ByteReader& reader) {
    PortsMessage message{
        .move = reader.u32(), .port = reader.u16(), .rank = Rank{reader.u16()}, .taken = {}};
    const std::size_t count = reader.u16();
    if (count > kTakenPortsMax) {
        reader.fail();
    }
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        message.taken.push_back(reader.u16());
    }
    return message;
}

std::optional<TreeMessage> take_body(Type type, ByteReader& reader) {
    switch (type) {
        case Type::setup:
            return take_setup(reader);
        case Type::gathered:
            return take_gathered(reader);
        case Type::result:
            return take_result(reader);
        case Type::failed:
            return FailedMessage{take_failures(reader)};
        case Type::verdict:
            return take_verdict(reader);
        case Type::settled:
            return SettledMessage{};
        case Type::pulse:
            return take_pulse(reader);
        case Type::ask:
            return take_ask(reader);
        case Type::tell:
            return TellMessage{TellWord{std::min<std::uint8_t>(reader.u8(), 2)}};
        case Type::direct:
            return DirectMessage{};
        case Type::examine:
            return take_examine(reader);
        case Type::examined:
            return take_examined(reader);
        case Type::lease:
            return take_lease(reader);
        case Type::leased:
            return take_leased(reader);
        case Type::held:
            return HeldMessage{reader.u8() != 0};
        case Type::fetch:
            return FetchMessage{take_file(reader)};
        case Type::found:
            return take_found(reader);
        case Type::take:
            return TakeMessage{};
        case Type::question:
            return take_question(reader);
        case Type::report:
            return take_report(reader);
        case Type::ports:
            return take_ports(reader);
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::byte> encode(const TreeMessage& message) {
    ByteWriter writer;
    writer.u8(kTreeVersion).u8(static_cast<std::uint8_t>(kTypes.at(message.index())));
    std::visit([&](const auto& one) { put(writer, one); }, message);
    return writer.take();
}

Result<TreeMessage> decode_tree_message(Bytes bytes) {
    ByteReader reader{bytes};
    const std::uint8_t version = reader.u8();
    const auto type = static_cast<Type>(reader.u8());
    if (reader.ok() && version != kTreeVersion) {
        return Error{Blame::node,
                     "its stagecastd uses version " + std::to_string(version) +
                         " of the tree's messages, this one version " +
                         std::to_string(kTreeVersion)}
            .remedy("install the same stagecast on all nodes");
    }
    auto message = take_body(type, reader);
    if (!message || !reader.finished()) {
        return Error{Blame::node, "a malformed message from another node's stagecastd"};
    }
    return std::move(*message);
}

}  // namespace stage

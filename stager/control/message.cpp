#include "stager/control/message.h"

#include "stager/control/fields.h"
#include "transport/base/hex.h"
#include "transport/base/utf8.h"

#include <array>

namespace stage {
namespace {

enum class Type : std::uint8_t {
    stage = 1,
    query = 2,
    end = 3,
    ping = 4,
    push = 5,
    status = 6,
    verdict = 65,
    ack = 66,
    pong = 67,
    refused = 68,
    report = 69,
    verdict_with_directories = 70,
};

ByteWriter begin(Type type) {
    ByteWriter writer;
    writer.u8(kControlVersion).u8(static_cast<std::uint8_t>(type));
    return writer;
}

/// Empty or absolute.
std::string take_absolute(ByteReader& reader) {
    std::string path = take_text(reader, kMaxPathBytes);
    if (!path.empty() && path.front() != '/') {
        reader.fail();
    }
    return path;
}

std::vector<std::byte> encode_one(const StageRequest& request) {
    ByteWriter writer = begin(Type::stage);
    put_key(writer, request.key);
    writer.u32(request.uid).u32(request.gid);
    put_text(writer, request.node_name, kMaxNameBytes);
    put_text(writer, request.node_list, kMaxNodeListBytes);
    put_text(writer, request.work_dir, kMaxPathBytes);
    put_text(writer, request.specs, kMaxSpecsBytes);
    writer.u8(request.is_late ? 1 : 0);
    return writer.take();
}

std::vector<std::byte> encode_one(const QueryRequest& request) {
    ByteWriter writer = begin(Type::query);
    put_key(writer, request.key);
    return writer.take();
}

std::vector<std::byte> encode_one(const EndRequest& request) {
    ByteWriter writer = begin(Type::end);
    writer.u32(request.job_id).u32(request.step_id);
    return writer.take();
}

std::vector<std::byte> encode_one(const PingRequest& /*request*/) {
    return begin(Type::ping).take();
}

std::vector<std::byte> encode_one(const PushRequest& request) {
    ByteWriter writer = begin(Type::push);
    put_key(writer, request.id);
    put_enum(writer, request.mode);
    writer.u64(request.rate).u32(request.timeout_s);
    put_text(writer, request.node_list, kMaxNodeListBytes);
    put_text(writer, request.specs, kMaxSpecsBytes);
    return writer.take();
}

std::vector<std::byte> encode_one(const StatusRequest& request) {
    ByteWriter writer = begin(Type::status);
    put_enum(writer, request.kind);
    put_key(writer, request.key);
    return writer.take();
}

/// A path below the stage directory is encoded without it, so that all paths fit into one
/// message: the rest of each came out of the 32 KiB of specs.
std::string_view below(std::string_view path, std::string_view directory) {
    const bool is_below = !directory.empty() && path.size() > directory.size() + 1 &&
                          path.starts_with(directory) && path[directory.size()] == '/' &&
                          path[directory.size() + 1] != '/';
    return is_below ? path.substr(directory.size() + 1) : path;
}

std::vector<std::byte> encode_one(const Verdict& verdict) {
    const bool has_directories = !verdict.directories.empty();
    ByteWriter writer = begin(has_directories ? Type::verdict_with_directories : Type::verdict);
    put_enum(writer, verdict.state);
    put_enum(writer, verdict.blame);
    put_cut(writer, verdict.sentence, kMaxSentenceBytes);
    put_text(writer, verdict.stage_dir, kMaxPathBytes);
    invariant(verdict.paths.size() <= kMaxSpecs, "a stage has at most kMaxSpecs paths");
    writer.u16(static_cast<std::uint16_t>(verdict.paths.size()));
    for (const std::string& path : verdict.paths) {
        put_text(writer, below(path, verdict.stage_dir), kMaxPathBytes);
    }
    invariant(verdict.directories.size() <= kMaxDirectories, "a verdict's directories are few");
    if (has_directories) {
        writer.u16(static_cast<std::uint16_t>(verdict.directories.size()));
    }
    for (const std::string& directory : verdict.directories) {
        put_text(writer, directory, kMaxPathBytes);
    }
    return writer.take();
}

std::vector<std::byte> encode_one(const Ack& /*answer*/) {
    return begin(Type::ack).take();
}

std::vector<std::byte> encode_one(const Pong& answer) {
    ByteWriter writer = begin(Type::pong);
    put_text(writer, answer.version, kMaxNameBytes);
    return writer.take();
}

std::vector<std::byte> encode_one(const Refused& answer) {
    ByteWriter writer = begin(Type::refused);
    put_enum(writer, answer.blame);
    put_cut(writer, answer.sentence, kMaxSentenceBytes);
    return writer.take();
}

std::vector<std::byte> encode_one(const Report& answer) {
    ByteWriter writer = begin(Type::report);
    put_text(writer, answer.json, kMaxReportBytes);
    return writer.take();
}

StageRequest take_stage(ByteReader& reader) {
    StageRequest request;
    request.key = take_key(reader);
    request.uid = reader.u32();
    request.gid = reader.u32();
    request.node_name = take_text(reader, kMaxNameBytes);
    request.node_list = take_text(reader, kMaxNodeListBytes);
    request.work_dir = take_absolute(reader);
    request.specs = take_text(reader, kMaxSpecsBytes);
    request.is_late = reader.u8() != 0;
    return request;
}

PushRequest take_push(ByteReader& reader) {
    PushRequest request;
    request.id = take_key(reader);
    request.mode = take_enum(reader, PushMode::compare);
    request.rate = reader.u64();
    request.timeout_s = reader.u32();
    request.node_list = take_text(reader, kMaxNodeListBytes);
    request.specs = take_text(reader, kMaxSpecsBytes);
    return request;
}

StatusRequest take_status(ByteReader& reader) {
    StatusRequest request;
    request.kind = take_enum(reader, StatusKind::explain);
    request.key = take_key(reader);
    return request;
}

Verdict take_verdict(ByteReader& reader) {
    Verdict verdict;
    verdict.state = take_enum(reader, VerdictState::busy);
    verdict.blame = take_enum(reader, Blame::internal);
    verdict.sentence = take_text(reader, kMaxSentenceBytes);
    verdict.stage_dir = take_absolute(reader);
    const std::size_t count = reader.u16();
    if (count > kMaxSpecs) {
        reader.fail();
        return verdict;
    }
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        std::string path = take_text(reader, kMaxPathBytes);
        const bool is_whole = path.empty() || path.starts_with('/');
        if (!is_whole && verdict.stage_dir.empty()) {
            reader.fail();
            return verdict;
        }
        verdict.paths.push_back(is_whole ? std::move(path) : verdict.stage_dir + '/' + path);
    }
    return verdict;
}

void take_directories(ByteReader& reader, Verdict& verdict) {
    const std::size_t count = reader.u16();
    if (count == 0 || count > kMaxDirectories) {
        reader.fail();
    }
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        verdict.directories.push_back(take_absolute(reader));
    }
}

Error malformed(std::string_view what) {
    return {Blame::internal, "a malformed " + std::string{what} + " message"};
}

/// Reads version and type, the start of every message.
Result<Type> take_head(ByteReader& reader, std::string_view what) {
    const std::uint8_t version = reader.u8();
    const std::uint8_t type = reader.u8();
    if (!reader.ok()) {
        return malformed(what);
    }
    if (version != kControlVersion) {
        return Error{Blame::node,
                     "the other side has version " + std::to_string(version) +
                         " of the control messages, this one " +
                         std::to_string(kControlVersion)}
            .remedy(
                "install the same stagecast for plugin and daemon, then restart stagecastd");
    }
    return static_cast<Type>(type);
}

template <class Message, class Value>
Result<Message> complete(const ByteReader& reader, Value value, std::string_view what) {
    if (!reader.finished()) {
        return malformed(what);
    }
    return Message{std::move(value)};
}

}  // namespace

void put_key(ByteWriter& writer, const StageKey& key) {
    writer.u32(key.job_id).u32(key.step_id).u32(key.restart);
}

StageKey take_key(ByteReader& reader) {
    StageKey key;
    key.job_id = reader.u32();
    key.step_id = reader.u32();
    key.restart = reader.u32();
    return key;
}

bool fits(const StageRequest& request) {
    return request.node_name.size() <= kMaxNameBytes &&
           request.node_list.size() <= kMaxNodeListBytes &&
           request.work_dir.size() <= kMaxPathBytes && request.specs.size() <= kMaxSpecsBytes;
}

bool fits(const PushRequest& request) {
    return request.node_list.size() <= kMaxNodeListBytes &&
           request.specs.size() <= kMaxSpecsBytes;
}

bool fits(const Verdict& verdict) {
    constexpr std::size_t kLengthBytes = 4;
    std::size_t total = kMaxSentenceBytes + kMaxPathBytes + 64;
    for (const std::string& path : verdict.paths) {
        const std::string_view sent = below(path, verdict.stage_dir);
        if (sent.size() > kMaxPathBytes) {
            return false;
        }
        total += kLengthBytes + sent.size();
    }
    for (const std::string& directory : verdict.directories) {
        if (directory.size() > kMaxPathBytes) {
            return false;
        }
        total += kLengthBytes + directory.size();
    }
    return verdict.stage_dir.size() <= kMaxPathBytes && verdict.paths.size() <= kMaxSpecs &&
           verdict.directories.size() <= kMaxDirectories && total <= kMaxMessageBytes;
}

std::vector<std::byte> encode(const Request& request) {
    return std::visit([](const auto& one) { return encode_one(one); }, request);
}

std::vector<std::byte> encode(const Answer& answer) {
    return std::visit([](const auto& one) { return encode_one(one); }, answer);
}

Result<Request> decode_request(Bytes message) {
    ByteReader reader{message};
    const auto type = take_head(reader, "request");
    if (!type) {
        return type.error();
    }
    switch (*type) {
        case Type::stage: {
            StageRequest request = take_stage(reader);
            return complete<Request>(reader, std::move(request), "STAGE");
        }
        case Type::query: {
            const QueryRequest request{take_key(reader)};
            return complete<Request>(reader, request, "QUERY");
        }
        case Type::end: {
            EndRequest request;
            request.job_id = reader.u32();
            request.step_id = reader.u32();
            return complete<Request>(reader, request, "END");
        }
        case Type::ping:
            return complete<Request>(reader, PingRequest{}, "PING");
        case Type::push: {
            PushRequest request = take_push(reader);
            return complete<Request>(reader, std::move(request), "PUSH");
        }
        case Type::status: {
            const StatusRequest request = take_status(reader);
            return complete<Request>(reader, request, "STATUS");
        }
        default:
            return malformed("request");
    }
}

Result<Answer> decode_answer(Bytes message) {
    ByteReader reader{message};
    const auto type = take_head(reader, "answer");
    if (!type) {
        return type.error();
    }
    switch (*type) {
        case Type::verdict:
        case Type::verdict_with_directories: {
            Verdict verdict = take_verdict(reader);
            if (*type == Type::verdict_with_directories) {
                take_directories(reader, verdict);
            }
            return complete<Answer>(reader, std::move(verdict), "VERDICT");
        }
        case Type::ack:
            return complete<Answer>(reader, Ack{}, "ACK");
        case Type::pong: {
            Pong pong{take_text(reader, kMaxNameBytes)};
            return complete<Answer>(reader, std::move(pong), "PONG");
        }
        case Type::refused: {
            Refused refused;
            refused.blame = take_enum(reader, Blame::internal);
            refused.sentence = take_text(reader, kMaxSentenceBytes);
            return complete<Answer>(reader, std::move(refused), "refusal");
        }
        case Type::report: {
            Report report{take_text(reader, kMaxReportBytes)};
            return complete<Answer>(reader, std::move(report), "REPORT");
        }
        default:
            return malformed("answer");
    }
}

std::string_view to_string(VerdictState state) {
    constexpr std::array<std::string_view, 5> kNames{
        "ok", "partial", "failed", "unknown", "busy"};
    return kNames.at(static_cast<std::size_t>(state));
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const char first = text.front();
        const std::size_t shown = shown_length(text);
        if (first == '\n') {
            out += "\\n";
        } else if (first == '\t') {
            out += "\\t";
        } else if (first == '\\') {
            out += "\\\\";
        } else if (shown == 0) {
            out += "\\x";
            append_hex(out, static_cast<unsigned char>(first));
        } else {
            out += text.substr(0, shown);
        }
        text.remove_prefix(shown == 0 ? 1 : shown);
    }
    return out;
}

}  // namespace stage

#include "stager/control/message.h"

#include "transport/base/fields.h"
#include "transport/base/hex.h"
#include "transport/base/text.h"

#include <array>

namespace stage {
namespace {

constexpr TypeNumbers<Request> kRequests{1, 2, 3, 4, 5, 6, 7};
/// A verdict with directories has a number of its own.
constexpr std::uint8_t kVerdict = 65;
constexpr std::uint8_t kVerdictWithDirectories = 70;

constexpr TypeNumbers<Answer> answer_numbers(bool has_directories) {
    return {has_directories ? kVerdictWithDirectories : kVerdict, 66, 67, 68, 69};
}

/// Empty or absolute.
void absolute(auto& on, auto& path) {
    on.text(path, kMaxPathBytes).require(path.empty() || path.front() == '/');
}

/// A path below the stage directory is encoded without it, so that all paths fit into one
/// message: the rest of each came out of the 32 KiB of specs.
std::string_view below(std::string_view path, std::string_view directory) {
    const bool is_below = !directory.empty() && path.size() > directory.size() + 1 &&
                          path.starts_with(directory) && path[directory.size()] == '/' &&
                          path[directory.size() + 1] != '/';
    return is_below ? path.substr(directory.size() + 1) : path;
}

/// Reads the absolute path of what below() made.
std::string take_path(ByteReader& reader, const std::string& directory) {
    std::string path;
    FieldReader{reader}.text(path, kMaxPathBytes);
    const bool is_whole = path.empty() || path.front() == '/';
    if (!is_whole && directory.empty()) {
        reader.fail();
    }
    return is_whole ? path : directory + '/' + path;
}

}  // namespace

void fields(auto& on, Like<StageKey> auto& key) {
    on.number(key.job_id).number(key.step_id).number(key.restart);
}

void fields(auto& on, Like<StageRequest> auto& request) {
    fields(on, request.key);
    on.number(request.uid).number(request.gid).text(request.node_name, kMaxNameBytes);
    on.text(request.node_list, kMaxNodeListBytes);
    absolute(on, request.work_dir);
    on.text(request.specs, kMaxSpecsBytes).flag(request.is_late);
}

void fields(auto& on, Like<QueryRequest> auto& query) {
    fields(on, query.key);
}

void fields(auto& on, Like<EndRequest> auto& end) {
    on.number(end.job_id).number(end.step_id);
}

void fields(auto& /*on*/, Like<PingRequest> auto& /*ping*/) {
}

void fields(auto& on, Like<PushRequest> auto& push) {
    fields(on, push.id);
    on.choice(push.mode, PushMode::compare).number(push.rate).number(push.timeout_s);
    on.text(push.node_list, kMaxNodeListBytes).text(push.specs, kMaxSpecsBytes);
    on.flag(push.ends_at_gateway);
}

void fields(auto& on, Like<StatusRequest> auto& status) {
    on.choice(status.kind, StatusKind::explain);
    fields(on, status.key);
}

void fields(auto& on, Like<TicketRequest> auto& ticket) {
    on.text(ticket.cluster, kMaxNameBytes).number(ticket.for_uid).number(ticket.lifetime_s);
    on.texts(ticket.paths, kMaxSpecs, kMaxPathBytes).require(!ticket.paths.empty());
}

void fields(auto& on, Like<Verdict> auto& verdict) {
    on.choice(verdict.state, VerdictState::dropped).choice(verdict.blame, Blame::internal);
    on.cut(verdict.sentence, kMaxSentenceBytes);
    absolute(on, verdict.stage_dir);
    on.template list<std::uint16_t>(verdict.paths, kMaxSpecs, [&](auto& each, auto& path) {
        each.with(
            path,
            [&](ByteWriter& out, const std::string& whole) {
                FieldWriter{out}.text(below(whole, verdict.stage_dir), kMaxPathBytes);
            },
            [&](ByteReader& in) { return take_path(in, verdict.stage_dir); });
    });
    on.text(verdict.dropped_nodes, kMaxDroppedBytes);
}

void fields(auto& /*on*/, Like<Ack> auto& /*ack*/) {
}

void fields(auto& on, Like<Pong> auto& pong) {
    on.text(pong.version, kMaxNameBytes);
}

void fields(auto& on, Like<Refused> auto& refused) {
    on.choice(refused.blame, Blame::internal).cut(refused.sentence, kMaxSentenceBytes);
}

void fields(auto& on, Like<Report> auto& report) {
    on.text(report.json, kMaxReportBytes);
}

namespace {

void directories(auto& on, Like<Verdict> auto& verdict) {
    on.template list<std::uint16_t>(verdict.directories,
                                    kMaxDirectories,
                                    [](auto& each, auto& path) { absolute(each, path); });
    on.require(!verdict.directories.empty());
}

Error malformed(std::string_view what) {
    return {Blame::internal, "a malformed " + std::string{what} + " message"};
}

/// Reads the version, and takes the rest with `take`. `names` of the types, for messages.
template <class Message, class Take>
Result<Message> decode(Bytes bytes,
                       std::string_view what,
                       const std::array<std::string_view, std::variant_size_v<Message>>& names,
                       Take take) {
    ByteReader reader{bytes};
    const std::uint8_t version = reader.u8();
    if (reader.left() == 0) {
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
    std::optional<Message> message = take(reader);
    if (!reader.finished()) {
        return malformed(message ? names[message->index()] : what);
    }
    return *std::move(message);
}

}  // namespace

void put_key(ByteWriter& writer, const StageKey& key) {
    FieldWriter on{writer};
    fields(on, key);
}

StageKey take_key(ByteReader& reader) {
    StageKey key;
    FieldReader on{reader};
    fields(on, key);
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

bool fits(const TicketRequest& request) {
    std::size_t total = request.cluster.size();
    for (const std::string& path : request.paths) {
        total += path.size() < kMaxPathBytes ? path.size() : kMaxMessageBytes;
    }
    return request.paths.size() <= kMaxSpecs && request.cluster.size() <= kMaxNameBytes &&
           total <= kMaxSpecsBytes;
}

bool fits(const Verdict& verdict) {
    constexpr std::size_t kLengthBytes = 4;
    std::size_t total = kMaxSentenceBytes + kMaxPathBytes + verdict.dropped_nodes.size() + 64;
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
           verdict.directories.size() <= kMaxDirectories &&
           verdict.dropped_nodes.size() <= kMaxDroppedBytes && total <= kMaxMessageBytes;
}

std::vector<std::byte> encode(const Request& request) {
    return encoded(kControlVersion, kRequests, request);
}

std::vector<std::byte> encode(const Answer& answer) {
    const auto* verdict = std::get_if<Verdict>(&answer);
    const bool has_directories = verdict != nullptr && !verdict->directories.empty();
    ByteWriter writer;
    put_message(writer.u8(kControlVersion), answer_numbers(has_directories), answer);
    if (has_directories) {
        FieldWriter on{writer};
        directories(on, *verdict);
    }
    return writer.take();
}

Result<Request> decode_request(Bytes message) {
    return decode<Request>(
        message,
        "request",
        {"STAGE", "QUERY", "END", "PING", "PUSH", "STATUS", "TICKET"},
        [](ByteReader& reader) { return take_message<Request>(reader, kRequests); });
}

Result<Answer> decode_answer(Bytes message) {
    const bool has_directories =
        message.size() > 1 && message[1] == std::byte{kVerdictWithDirectories};
    return decode<Answer>(message,
                          "answer",
                          {"VERDICT", "ACK", "PONG", "refusal", "REPORT"},
                          [has_directories](ByteReader& reader) {
                              auto answer =
                                  take_message<Answer>(reader, answer_numbers(has_directories));
                              if (has_directories && answer) {
                                  FieldReader on{reader};
                                  directories(on, std::get<Verdict>(*answer));
                              }
                              return answer;
                          });
}

std::string_view to_string(VerdictState state) {
    constexpr std::array<std::string_view, 6> kNames{
        "ok", "partial", "failed", "unknown", "busy", "dropped"};
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

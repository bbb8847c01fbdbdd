#include "pmix/host_message.h"

#include "transport/base/codec.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::size_t kMaxNodeNameBytes = 255;
constexpr std::size_t kMaxVariables = 256;
constexpr std::size_t kMaxVariableBytes = 8192;
constexpr std::size_t kMaxVariablesBytes = 24U << 10U;  ///< All of them: one datagram.
constexpr std::size_t kMaxSentence = 2048;

enum class Type : std::uint8_t {
    job = 1,
    fence_down = 2,
    group_down = 3,
    abort = 4,
    done = 5,
    ready = 33,
    env = 34,
    connected = 35,
    finalized = 36,
    fence_up = 37,
    group_up = 38,
    failed = 39,
};

ByteWriter begin(Type type) {
    ByteWriter out;
    out.u8(kHostVersion).u8(static_cast<std::uint8_t>(type));
    return out;
}

bool is_name_space(std::string_view text) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    };
    return !text.empty() && text.size() <= kMaxNamespaceBytes &&
           std::all_of(text.begin(), text.end(), fits);
}

/// PMIx' lists of nodes are joined with commas; its regular expressions use brackets.
bool is_node_name(std::string_view text) {
    const auto fits = [](char c) {
        return c > ' ' && c < '\x7f' && c != ',' && c != ';' && c != '[' && c != ']';
    };
    return !text.empty() && text.size() <= kMaxNodeNameBytes &&
           std::all_of(text.begin(), text.end(), fits);
}

bool is_variable(std::string_view text) {
    const std::size_t equals = text.find('=');
    return equals != 0 && equals != std::string_view::npos &&
           text.size() <= kMaxVariableBytes && text.find('\0') == std::string_view::npos;
}

bool is_sound(const HostJob& job) {
    return job.uid != 0 && is_name_space(job.name_space) && !job.nodes.empty() &&
           job.nodes.size() <= kMaxHostNodes && job.rank.index() < job.nodes.size() &&
           std::all_of(job.nodes.begin(), job.nodes.end(), is_node_name);
}

bool is_sound(const HostEnv& env) {
    std::size_t bytes = 0;
    for (const std::string& variable : env.variables) {
        bytes += variable.size();
    }
    return env.variables.size() <= kMaxVariables && bytes <= kMaxVariablesBytes &&
           std::all_of(env.variables.begin(), env.variables.end(), is_variable);
}

/// Makes one line without control characters of an untrusted text.
std::string one_line(std::string_view text) {
    std::string line{text.substr(0, kMaxSentence)};
    std::replace_if(
        line.begin(),
        line.end(),
        [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; },
        ' ');
    return line;
}

std::vector<std::byte> take_bytes(ByteReader& in, std::size_t limit) {
    const Bytes bytes = in.blob(limit);
    return {bytes.begin(), bytes.end()};
}

struct Encoder {
    std::vector<std::byte> operator()(const HostJob& job) const {
        invariant(is_sound(job), "a job for a PMIx host is checked");
        ByteWriter out = begin(Type::job);
        out.u32(job.uid).u32(job.gid).text(job.name_space).u16(job.rank.value());
        out.u32(static_cast<std::uint32_t>(job.nodes.size()));
        for (const std::string& node : job.nodes) {
            out.text(node);
        }
        return out.take();
    }
    std::vector<std::byte> operator()(const HostFenceDown& down) const {
        return begin(Type::fence_down).u32(down.sequence).blob(down.data).take();
    }
    std::vector<std::byte> operator()(const HostGroupDown& down) const {
        return begin(Type::group_down).u32(down.sequence).u64(down.context_id).take();
    }
    std::vector<std::byte> operator()(const HostAbort&) const {
        return begin(Type::abort).take();
    }
    std::vector<std::byte> operator()(const HostDone&) const {
        return begin(Type::done).take();
    }
    std::vector<std::byte> operator()(const HostReady& ready) const {
        return begin(Type::ready).u8(ready.gated ? 1 : 0).take();
    }
    std::vector<std::byte> operator()(const HostEnv& env) const {
        invariant(is_sound(env), "a worker's environment fits one datagram");
        ByteWriter out = begin(Type::env);
        out.u32(static_cast<std::uint32_t>(env.variables.size()));
        for (const std::string& variable : env.variables) {
            out.text(variable);
        }
        return out.take();
    }
    std::vector<std::byte> operator()(const HostConnected&) const {
        return begin(Type::connected).take();
    }
    std::vector<std::byte> operator()(const HostFinalized&) const {
        return begin(Type::finalized).take();
    }
    std::vector<std::byte> operator()(const HostFenceUp& up) const {
        invariant(up.data.size() <= kMaxFencePartBytes, "a node's part of a fence is bounded");
        return begin(Type::fence_up).u32(up.sequence).blob(up.data).take();
    }
    std::vector<std::byte> operator()(const HostGroupUp& up) const {
        return begin(Type::group_up).u32(up.sequence).take();
    }
    std::vector<std::byte> operator()(const HostFailed& failed) const {
        ByteWriter out = begin(Type::failed);
        out.u8(static_cast<std::uint8_t>(failed.blame)).text(one_line(failed.sentence));
        return out.take();
    }
};

HostJob take_job(ByteReader& in) {
    HostJob job;
    job.uid = in.u32();
    job.gid = in.u32();
    job.name_space = in.text(kMaxNamespaceBytes);
    job.rank = Rank{in.u16()};
    const std::size_t count = in.u32();
    if (count > kMaxHostNodes || count > in.left()) {
        in.fail();
    }
    for (std::size_t i = 0; in.ok() && i < count; ++i) {
        job.nodes.push_back(in.text(kMaxNodeNameBytes));
    }
    if (!is_sound(job)) {
        in.fail();
    }
    return job;
}

HostEnv take_env(ByteReader& in) {
    HostEnv env;
    const std::size_t count = in.u32();
    if (count > kMaxVariables) {
        in.fail();
    }
    for (std::size_t i = 0; in.ok() && i < count; ++i) {
        env.variables.push_back(in.text(kMaxVariableBytes));
    }
    if (!is_sound(env)) {
        in.fail();
    }
    return env;
}

HostFailed take_failed(ByteReader& in) {
    const std::uint8_t blame = in.u8();
    if (blame > static_cast<std::uint8_t>(Blame::internal)) {
        in.fail();
        return {};
    }
    return {.blame = static_cast<Blame>(blame), .sentence = one_line(in.text(kMaxSentence))};
}

HostReady take_ready(ByteReader& in) {
    const std::uint8_t gated = in.u8();
    if (gated > 1) {
        in.fail();
    }
    return {.gated = gated == 1};
}

ToHost take_to_host(Type type, ByteReader& in) {
    switch (type) {
        case Type::job:
            return take_job(in);
        case Type::fence_down: {
            const std::uint32_t sequence = in.u32();
            return HostFenceDown{.sequence = sequence, .data = take_bytes(in, kMaxToHost)};
        }
        case Type::group_down: {
            const std::uint32_t sequence = in.u32();
            return HostGroupDown{.sequence = sequence, .context_id = in.u64()};
        }
        case Type::abort:
            return HostAbort{};
        case Type::done:
            return HostDone{};
        default:
            in.fail();
            return HostDone{};
    }
}

FromHost take_from_host(Type type, ByteReader& in) {
    switch (type) {
        case Type::ready:
            return take_ready(in);
        case Type::env:
            return take_env(in);
        case Type::connected:
            return HostConnected{};
        case Type::finalized:
            return HostFinalized{};
        case Type::fence_up: {
            const std::uint32_t sequence = in.u32();
            return HostFenceUp{.sequence = sequence,
                               .data = take_bytes(in, kMaxFencePartBytes)};
        }
        case Type::group_up:
            return HostGroupUp{.sequence = in.u32()};
        case Type::failed:
            return take_failed(in);
        default:
            in.fail();
            return HostFinalized{};
    }
}

template <class Message, class Take>
Result<Message> decode(Bytes bytes, std::size_t limit, const char* who, Take take) {
    ByteReader in{bytes};
    const std::uint8_t version = in.u8();
    const auto type = static_cast<Type>(in.u8());
    if (version != kHostVersion || bytes.size() > limit) {
        in.fail();
    }
    if (in.ok()) {
        Message message = take(type, in);
        if (in.finished()) {
            return message;
        }
    }
    return Error{Blame::internal,
                 std::string{who} + " sent " + std::to_string(bytes.size()) +
                     " bytes that are no valid message"};
}

}  // namespace

std::vector<std::byte> encode_to_host(const ToHost& message) {
    return std::visit(Encoder{}, message);
}

std::vector<std::byte> encode_from_host(const FromHost& message) {
    return std::visit(Encoder{}, message);
}

Result<ToHost> decode_to_host(Bytes message) {
    return decode<ToHost>(message, kMaxToHost, "the daemon", take_to_host);
}

Result<FromHost> decode_from_host(Bytes message) {
    return decode<FromHost>(message, kMaxFromHost, "the PMIx host", take_from_host);
}

}  // namespace stage

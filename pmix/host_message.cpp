#include "pmix/host_message.h"

#include "transport/base/fields.h"

#include <algorithm>
#include <array>

namespace stage {
namespace {

constexpr std::size_t kMaxNodeNameBytes = 255;
constexpr std::size_t kMaxVariables = 256;
constexpr std::size_t kMaxVariableBytes = 8192;
constexpr std::size_t kMaxVariablesBytes = 24U << 10U;  ///< All of them: one datagram.
constexpr std::size_t kMaxSentence = 2048;

constexpr TypeNumbers<ToHost> kToHost{1, 2, 3, 4, 5};
constexpr TypeNumbers<FromHost> kFromHost{33, 34, 35, 36, 37, 38, 39};

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

}  // namespace

void fields(auto& on, Like<HostJob> auto& job) {
    on.number(job.uid).number(job.gid).any_text(job.name_space, kMaxNamespaceBytes);
    on.number(job.rank).list(job.nodes, kMaxHostNodes, [](auto& each, auto& node) {
        each.any_text(node, kMaxNodeNameBytes);
    });
    on.require(is_sound(job));
}

void fields(auto& on, Like<HostFenceDown> auto& down) {
    on.number(down.sequence).blob(down.data, kMaxToHost);
}

void fields(auto& on, Like<HostGroupDown> auto& down) {
    on.number(down.sequence).number(down.context_id);
}

void fields(auto& /*on*/, Like<HostAbort> auto& /*abort*/) {
}

void fields(auto& /*on*/, Like<HostDone> auto& /*done*/) {
}

void fields(auto& on, Like<HostReady> auto& ready) {
    on.flag(ready.gated);
}

void fields(auto& on, Like<HostEnv> auto& env) {
    on.list(env.variables, kMaxVariables, [](auto& each, auto& variable) {
        each.any_text(variable, kMaxVariableBytes);
    });
    on.require(is_sound(env));
}

void fields(auto& /*on*/, Like<HostConnected> auto& /*connected*/) {
}

void fields(auto& /*on*/, Like<HostFinalized> auto& /*finalized*/) {
}

void fields(auto& on, Like<HostFenceUp> auto& up) {
    on.number(up.sequence).blob(up.data, kMaxFencePartBytes);
}

void fields(auto& on, Like<HostGroupUp> auto& up) {
    on.number(up.sequence);
}

void fields(auto& on, Like<HostFailed> auto& failed) {
    on.choice(failed.blame, Blame::internal);
    on.with(
        failed.sentence,
        [](ByteWriter& out, const std::string& sentence) { out.text(one_line(sentence)); },
        [](ByteReader& in) { return one_line(in.text(kMaxSentence)); });
}

namespace {

template <class Message>
Result<Message> decode(const TypeNumbers<Message>& numbers,
                       Bytes bytes,
                       std::size_t limit,
                       const char* sender) {
    auto message =
        bytes.size() <= limit ? decoded<Message>(kHostVersion, numbers, bytes) : std::nullopt;
    if (!message) {
        return Error{Blame::internal,
                     std::string{sender} + " sent " + std::to_string(bytes.size()) +
                         " bytes that are no valid message"};
    }
    return *std::move(message);
}

}  // namespace

bool is_wire_up_variable(std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('='));
    // As PMIx 4.2 and 5.0 set them: PMIX_SERVER_URI2 to 41 and PMIX_SERVER_TMPDIR,
    // PMIX_BFROP_BUFFER_TYPE, PMIX_GDS_MODULE, PMIX_DSTORE_21_BASE_PATH and the like.
    constexpr std::array<std::string_view, 8> kNames{"PMIX_NAMESPACE",
                                                     "PMIX_RANK",
                                                     "PMIX_SYSTEM_TMPDIR",
                                                     "PMIX_SECURITY_MODE",
                                                     "PMIX_PTL_MODULE",
                                                     "PMIX_HOSTNAME",
                                                     "PMIX_VERSION",
                                                     "PMIX_KEEPALIVE_PIPE"};
    constexpr std::array<std::string_view, 4> kFamilies{
        "PMIX_SERVER_", "PMIX_BFROP_", "PMIX_GDS_", "PMIX_DSTORE_"};
    return std::ranges::find(kNames, name) != kNames.end() ||
           std::ranges::any_of(
               kFamilies, [&](std::string_view family) { return name.starts_with(family); });
}

std::vector<std::byte> encode_to_host(const ToHost& message) {
    return encoded(kHostVersion, kToHost, message);
}

std::vector<std::byte> encode_from_host(const FromHost& message) {
    return encoded(kHostVersion, kFromHost, message);
}

Result<ToHost> decode_to_host(Bytes message) {
    return decode<ToHost>(kToHost, message, kMaxToHost, "the daemon");
}

Result<FromHost> decode_from_host(Bytes message) {
    return decode<FromHost>(kFromHost, message, kMaxFromHost, "the PMIx host");
}

}  // namespace stage

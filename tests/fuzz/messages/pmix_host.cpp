// Fuzzes the messages between the daemon and its PMIx host.
//
// The first byte chooses the direction.
#include "pmix/host_message.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

bool check_to_host(Bytes input) {
    return is_exact(input, decode_to_host, [](const ToHost& message) {
        if (const auto* job = std::get_if<HostJob>(&message)) {
            invariant(job->uid != 0, "a host never serves as root");
            invariant(job->rank.index() < job->nodes.size(), "the worker is on a node");
        }
        return encode_to_host(message);
    });
}

/// A host is its user's process.
bool check_from_host(Bytes input) {
    return is_stable(input, decode_from_host, [](const FromHost& message) {
        if (const auto* env = std::get_if<HostEnv>(&message)) {
            for (const std::string& variable : env->variables) {
                invariant(variable.find('=') != std::string::npos && variable.front() != '=',
                          "a variable has a name");
            }
        }
        if (const auto* up = std::get_if<HostFenceUp>(&message)) {
            invariant(up->data.size() <= kMaxFencePartBytes, "a node's part is bounded");
        }
        auto bytes = encode_from_host(message);
        invariant(bytes.size() <= kMaxFromHost, "a host's message is a datagram");
        return bytes;
    });
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (input.empty()) {
        return false;
    }
    const Bytes message = input.subspan(1);
    return input.front() == std::byte{0} ? check_to_host(message) : check_from_host(message);
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto down = [](const ToHost& message) { return chosen(0, encode_to_host(message)); };
    const auto up = [](const FromHost& message) {
        return chosen(1, encode_from_host(message));
    };
    const HostJob job{.uid = 1000,
                      .gid = 100,
                      .name_space = "stagecast.4711.3.0",
                      .rank = Rank{1},
                      .nodes = {"n0", "n1"}};
    const HostEnv env{{"PMIX_NAMESPACE=stagecast.4711.3.0", "PMIX_RANK=1", "EMPTY="}};
    return {{"job", down(job)},
            {"fence_down", down(HostFenceDown{.sequence = 1, .data = owned("all cards")})},
            {"group_down", down(HostGroupDown{.sequence = 2, .context_id = 1ULL << 40U})},
            {"abort", down(HostAbort{})},
            {"done", down(HostDone{})},
            {"ready", up(HostReady{.gated = true})},
            {"env", up(env)},
            {"connected", up(HostConnected{})},
            {"finalized", up(HostFinalized{})},
            {"fence_up", up(HostFenceUp{.sequence = 1, .data = owned("a card")})},
            {"group_up", up(HostGroupUp{.sequence = 2})},
            {"failed", up(HostFailed{.blame = Blame::node, .sentence = "munged is silent"})}};
}

}  // namespace stage

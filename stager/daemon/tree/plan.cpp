#include "stager/daemon/tree/plan.h"

#include "stager/content/sha256.h"
#include "stager/slurm/host_list.h"
#include "transport/base/fields.h"

#include <openssl/crypto.h>

namespace stage {
namespace {

constexpr std::size_t kMaxAddressBytes = 64;

}  // namespace

StagePlan::~StagePlan() {
    ::OPENSSL_cleanse(group_key.data(), group_key.size());
    ::OPENSSL_cleanse(push_token.data(), push_token.size());
}

void fields(auto& on, Like<StagePlan> auto& plan) {
    fields_of_settings(on, plan);
    on.raw(plan.digest).number(plan.width).number(plan.context_base).flag(plan.relays);
    on.any_text(plan.push_specs, kMaxSpecsBytes).raw(plan.push_token);
    on.flag(plan.is_root_spared);
    on.with(plan.request, put_request, take_request);
    on.require(plan.width >= 1 && plan.rails <= plan.policies.flows);
    on.list(plan.nodes, kMaxNodes, [](auto& each, auto& node) {
        each.any_text(node.name, kMaxNameBytes).any_text(node.address, kMaxAddressBytes);
    });
    on.require(!plan.nodes.empty());
}

std::vector<std::byte> encode(const StagePlan& plan) {
    return encoded(plan);
}

Result<StagePlan> decode_plan(Bytes bytes) {
    auto plan = decoded<StagePlan>(bytes);
    if (!plan) {
        return Error{Blame::node, "a malformed plan from another node's stagecastd"};
    }
    return *std::move(plan);
}

void put_request(ByteWriter& writer, const std::optional<StageRequest>& request) {
    writer.blob(request ? encode(Request{*request}) : std::vector<std::byte>{});
}

std::optional<StageRequest> take_request(ByteReader& reader) {
    const Bytes bytes = reader.blob(kMaxMessageBytes);
    if (bytes.empty()) {
        return std::nullopt;
    }
    auto request = decode_request(bytes);
    auto* const staging = request ? std::get_if<StageRequest>(&*request) : nullptr;
    if (staging == nullptr) {
        reader.fail();
        return std::nullopt;
    }
    return std::move(*staging);
}

std::array<std::byte, 32> digest_of(const StageRequest& request) {
    ByteWriter writer;
    writer.text(request.specs).text(request.node_list).u32(request.uid);
    return sha256(writer.view());
}

}  // namespace stage

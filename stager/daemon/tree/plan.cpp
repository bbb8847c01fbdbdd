#include "stager/daemon/tree/plan.h"

#include "stager/content/sha256.h"
#include "stager/slurm/host_list.h"

#include <openssl/crypto.h>

#include <algorithm>

namespace stage {
namespace {

constexpr std::size_t kMaxAddressBytes = 64;

template <std::size_t Size>
void take_array(ByteReader& reader, std::array<std::byte, Size>& array) {
    const Bytes bytes = reader.raw(Size);
    std::copy(bytes.begin(), bytes.end(), array.begin());
}

}  // namespace

StagePlan::~StagePlan() {
    ::OPENSSL_cleanse(group_key.data(), group_key.size());
    ::OPENSSL_cleanse(push_token.data(), push_token.size());
}

std::vector<std::byte> encode(const StagePlan& plan) {
    ByteWriter writer;
    writer.raw(plan.session).raw(plan.group_key).raw(plan.digest);
    writer.u16(plan.width).u64(plan.context_base);
    writer.text(plan.group_address).u16(plan.group_port).u8(plan.rails);
    writer.u8(plan.protection).u64(plan.rate_max);
    writer.u8(plan.rate_is_configured ? 1 : 0).u8(encode(plan.policies));
    writer.u32(plan.array_job_id).u32(plan.array_task_id);
    writer.u8(plan.cards_follow ? 1 : 0);
    writer.text(plan.push_specs).raw(plan.push_token).u8(plan.is_root_spared ? 1 : 0);
    put_request(writer, plan.request);
    writer.u32(static_cast<std::uint32_t>(plan.nodes.size()));
    for (const StagePlan::Node& node : plan.nodes) {
        writer.text(node.name).text(node.address);
    }
    return writer.take();
}

Result<StagePlan> decode_plan(Bytes bytes) {
    ByteReader reader{bytes};
    StagePlan plan;
    take_array(reader, plan.session);
    take_array(reader, plan.group_key);
    take_array(reader, plan.digest);
    plan.width = reader.u16();
    plan.context_base = reader.u64();
    plan.group_address = reader.text(kMaxAddressBytes);
    plan.group_port = reader.u16();
    plan.rails = reader.u8();
    plan.protection = reader.u8();
    plan.rate_max = reader.u64();
    plan.rate_is_configured = reader.u8() != 0;
    plan.policies = decode_policies(reader.u8());
    plan.array_job_id = reader.u32();
    plan.array_task_id = reader.u32();
    plan.cards_follow = reader.u8() != 0;
    plan.push_specs = reader.text(kMaxSpecsBytes);
    take_array(reader, plan.push_token);
    plan.is_root_spared = reader.u8() != 0;
    plan.request = take_request(reader);
    const std::size_t count = reader.u32();
    const bool is_split_soundly = plan.rails >= 1 && plan.rails <= plan.policies.flows;
    if (count < 1 || count > kMaxNodes || plan.width < 1 || !is_split_soundly) {
        reader.fail();
    }
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        std::string name = reader.text(kMaxNameBytes);
        plan.nodes.push_back({std::move(name), reader.text(kMaxAddressBytes)});
    }
    if (!reader.finished()) {
        return Error{Blame::node, "a malformed plan from another node's stagecastd"};
    }
    return plan;
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

// Describes the field of a broadcast's policies, one byte, in the plan and in SETUP.
#pragma once

#include "transport/base/fields.h"
#include "transport/settings/policies.h"

namespace stage {

[[nodiscard]] constexpr std::uint8_t encode(const Policies& policies) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(policies.rate) |
                                     static_cast<unsigned>(policies.peers) << 1U |
                                     static_cast<unsigned>(policies.readiness) << 2U |
                                     (policies.flows - 1U) % kPolicyFlowsMax << 3U);
}

/// Decodes any byte: every value is valid. The highest bit has no meaning.
[[nodiscard]] constexpr Policies decode_policies(std::uint8_t byte) {
    return Policies{.rate = static_cast<RatePolicy>(byte & 1U),
                    .peers = static_cast<PeerPolicy>(byte >> 1U & 1U),
                    .readiness = static_cast<ReadinessPolicy>(byte >> 2U & 1U),
                    .flows = static_cast<std::uint8_t>((byte >> 3U & 15U) + 1U)};
}

void fields(auto& on, Like<Policies> auto& policies) {
    on.with(
        policies,
        [](ByteWriter& out, const Policies& value) { out.u8(encode(value)); },
        [](ByteReader& in) { return decode_policies(in.u8()); });
}

}  // namespace stage

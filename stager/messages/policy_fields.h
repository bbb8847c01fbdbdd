// Describes the field of a broadcast's policies, one byte, in the plan and in SETUP.
#pragma once

#include "stager/config/policies.h"
#include "transport/base/fields.h"

namespace stage {

void fields(auto& on, Like<Policies> auto& policies) {
    on.with(
        policies,
        [](ByteWriter& out, const Policies& value) { out.u8(encode(value)); },
        [](ByteReader& in) { return decode_policies(in.u8()); });
}

}  // namespace stage

// Draws random values for keys, identifiers and random choices from the kernel.
#pragma once

#include "transport/base/invariant.h"

#include <sys/random.h>

namespace stage {

/// Fresh from getrandom(), which can't fail for a value this small.
template <class Value>
[[nodiscard]] Value random_value() {
    Value value{};
    static_assert(sizeof value <= 256, "getrandom() gives as many bytes at once");
    const auto count = ::getrandom(&value, sizeof value, 0);
    invariant(count == static_cast<ssize_t>(sizeof value), "the kernel gives random bytes");
    return value;
}

}  // namespace stage

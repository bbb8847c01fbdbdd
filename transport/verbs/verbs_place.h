// A member's place in the verbs fabric: the address of its queue pair, or why it has none.
#pragma once

#include "transport/base/result.h"
#include "transport/verbs/device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stage::verbs {

struct VerbsPlace {
    /// Not empty: the member has no queue pair, for this reason, and `peer` has no meaning.
    std::string why_not;
    UdAddress peer{};
    std::uint16_t mtu = 0;  ///< Its port's, bytes; at least kMinPortMtu.

    bool operator==(const VerbsPlace&) const = default;
};

/// Cuts a reason that is too long for a card.
[[nodiscard]] std::vector<std::byte> encode_place(const VerbsPlace& place);
/// Fails (Blame::internal) on anything but one whole, valid place.
[[nodiscard]] Result<VerbsPlace> decode_place(Bytes bytes);

}  // namespace stage::verbs

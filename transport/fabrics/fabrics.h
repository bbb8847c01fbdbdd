// The fabrics that this build has.
#pragma once

#include "transport/fabric/fabric.h"
#include "transport/settings/choices.h"

#include <string_view>
#include <vector>

namespace stage {

/// Null: this build has no fabric of that name.
[[nodiscard]] const Fabric* fabric_called(std::string_view name);

/// What a member opens for Transport=, the best first: the broadcast begins in the first that
/// all members have, and a hand-over goes to the next.
[[nodiscard]] std::vector<const Fabric*> fabrics_for(Transport transport);
/// What both ends of a leg open, likewise.
[[nodiscard]] std::vector<const Fabric*> fabrics_of_leg(WideArea wide_area);

}  // namespace stage

// The baseline of short broadcasts: the binomial tree of the MPIs, by a simulated rank.
#pragma once

#include "transport/base/units.h"

namespace stage::sim {

/// All ranks at once: the bytes of rank `source` are in those of all.
void binomial_broadcast(MutableBytes bytes, int source);

}  // namespace stage::sim

// A member of a later release that joined a group of this version.
//
// It speaks as agreed, but it may set what may be ignored (docs/protocol, 3.4): a flag of the
// header, a feature of its OFFER.
#pragma once

#include "transport/core/base/contract.h"

namespace stage::sim {

void speak_newer(core::Send& send);

}  // namespace stage::sim

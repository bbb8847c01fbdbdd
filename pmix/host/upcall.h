// What does the PMIx server want, and how does it reach the host's own thread?
//
// PMIx calls from its progress thread and must not be kept there. So each call becomes an
// Upcall in a bounded mailbox, whose descriptor wakes the host's loop. What PMIx waits for is
// answered through a FenceCall or GroupCall, from any thread, once; both own nothing of ours.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

namespace stage::pmix_host {

/// A collective that the library waits for. Opaque: an index of the server's.
using Call = std::uint64_t;

struct Registered {
    Status status;  ///< The job is known to the library, or not.
};
struct ClientConnected {};
struct ClientFinalized {};
struct FenceAsked {
    Call call = 0;
    std::vector<std::byte> data;
};
struct GroupAsked {
    Call call = 0;
};
/// The progress thread is alive.
struct Pulse {};

using Upcall =
    std::variant<Registered, ClientConnected, ClientFinalized, FenceAsked, GroupAsked, Pulse>;

}  // namespace stage::pmix_host

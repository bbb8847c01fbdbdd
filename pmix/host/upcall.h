// The calls that the PMIx server library makes to its host process.
//
// PMIx calls from its progress thread, which must not block. Each call becomes an Upcall in a
// bounded mailbox, whose descriptor wakes the host's loop. Collectives are answered once
// through their Call, from any thread.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

namespace stage::pmix_host {

/// A collective that the library waits for. Opaque: an index of the Switchboard.
using Call = std::uint64_t;

struct Registered {
    Status status;  ///< Whether the library has registered the job.
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
/// The progress thread's answer to ask_pulse().
struct Pulse {};

using Upcall =
    std::variant<Registered, ClientConnected, ClientFinalized, FenceAsked, GroupAsked, Pulse>;

}  // namespace stage::pmix_host

// Runs one member's part in a broadcast of bytes that lie in memory, on the calling thread.
//
// Neither end copies them: chunks are sent from where they lie, and placed where they belong.
// No thread is started, and no descriptor stays open.
#pragma once

#include "transport/run/broadcast.h"

namespace stage {

/// What else the calling thread has to do meanwhile.
class MemoryWatcher {
  public:
    MemoryWatcher() = default;
    MemoryWatcher(const MemoryWatcher&) = delete;
    MemoryWatcher& operator=(const MemoryWatcher&) = delete;
    virtual ~MemoryWatcher() = default;

    /// Called after every turn: at least each millisecond, and ten times as often once this
    /// member holds the object. True: all members are known to need nothing of this one any
    /// more, so that it may leave without the end of the session.
    virtual bool may_leave(const core::Outcome& outcome) = 0;
};

/// `bytes`: at least one. The source's stay as they are; a receiver's are undefined if it
/// fails. Requires that the cores of all members run or begin to now: `config.ready_timeout` is
/// how late one may be. `config` has no relay and one flow.
[[nodiscard]] core::Outcome broadcast_memory(const BroadcastConfig& config,
                                             Driver& driver,
                                             MutableBytes bytes,
                                             MemoryWatcher& watcher);

}  // namespace stage

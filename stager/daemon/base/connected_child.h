// Starts a child process that has a message socket, and whose output goes to the daemon's log.
#pragma once

#include "stager/daemon/base/child_output.h"
#include "stager/daemon/base/children.h"
#include "transport/os/unique_fd.h"

#include <memory>
#include <vector>

namespace stage {

struct ConnectedChild {
    UniqueFd socket;  ///< The daemon's end: SOCK_SEQPACKET, does not block. Not watched yet.
    std::unique_ptr<ChildOutput> output;
    SpawnId id = 0;
};

/// What is started, and who owns its output.
struct ConnectedProgram {
    ProgramRequest program;
    OutputOwner owner;
    /// Further descriptors for the child, behind its socket; borrowed for the call.
    std::vector<int> more{};
};

/// Fails with Blame::node. `on_event` as in Children::start(). All references outlive the
/// child.
[[nodiscard]] Result<ConnectedChild> start_connected(Loop& loop,
                                                     Children& children,
                                                     const Logger& log,
                                                     ConnectedProgram what,
                                                     Children::OnEvent on_event);

}  // namespace stage

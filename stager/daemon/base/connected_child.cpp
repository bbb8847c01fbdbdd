#include "stager/daemon/base/connected_child.h"

#include <sys/socket.h>

#include <array>
#include <utility>

namespace stage {

Result<ConnectedChild> start_connected(Loop& loop,
                                       Children& children,
                                       const Logger& log,
                                       ConnectedProgram what,
                                       Children::OnEvent on_event) {
    ConnectedChild child;
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) !=
        0) {
        return Error::from_errno(Blame::node, "socketpair for " + what.owner.process);
    }
    child.socket.reset(pair[0]);
    const UniqueFd theirs{pair[1]};
    TRY(auto output, ChildOutput::open(loop, log, std::move(what.owner)));
    child.output = std::move(output);
    std::vector<int> sockets{theirs.get()};
    sockets.insert(sockets.end(), what.more.begin(), what.more.end());
    sockets.push_back(child.output->child_end());
    what.program.has_output = true;
    TRY(const auto id, children.start(what.program, sockets, std::move(on_event)));
    child.id = id;
    child.output->handed_over();
    return child;
}

}  // namespace stage

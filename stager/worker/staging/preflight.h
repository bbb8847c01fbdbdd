// What does a worker see that only looks?
//
// Before files are pushed: what is to be sent, and whether each node has place and room for it.
// Instead of a push: whether what lies there has the source's content. Nothing is made, nobody
// else takes part.
#pragma once

#include "stager/files/sink/file_sink.h"
#include "stager/files/source/file_source.h"
#include "stager/messages/worker_setup.h"
#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/staging/control_socket.h"

namespace stage {

/// Looks as `setup.purpose` says, with the caller's rights: at the source where setup.rank is
/// setup.source, else at the destination.
[[nodiscard]] Result<WorkerLook> look_alone(const WorkerSetup& setup, Interrupts& interrupts);

/// LOOK and OUTCOME. The process's exit code.
[[nodiscard]] int tell_look(const Result<WorkerLook>& look, ControlSocket& control);

struct PreflightRequest {
    std::uint64_t bytes_max = 0;  ///< 0: no limit.
    bool compares = false;        ///< The content is read.
};
/// What the source is; its manifest if that can be handed on.
[[nodiscard]] Result<WorkerLook> look_at(std::vector<SourceOrder> orders,
                                         PreflightRequest wish,
                                         Interrupts& interrupts);
/// Would what `manifest` tells find place and room?
[[nodiscard]] Result<WorkerLook> look_for_room(Bytes manifest, SinkConfig config);

}  // namespace stage

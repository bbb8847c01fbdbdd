// Runs a worker's preflight check, which inspects files and transfers nothing.
//
// Before a push it reports what is to be sent, and whether each node has the destination and
// the space, or the files already (present_files.h). Instead of a push it reports whether the
// destination has the source's content. It creates nothing, and no other member takes part.
#pragma once

#include "stager/files/sink/file_sink.h"
#include "stager/files/source/file_source.h"
#include "stager/messages/worker_setup.h"
#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/staging/control_socket.h"

namespace stage {

/// Inspects as `setup.purpose` says, with the caller's rights: the source if setup.rank is
/// setup.source, otherwise the destination.
[[nodiscard]] Result<WorkerLook> look_alone(const WorkerSetup& setup, Interrupts& interrupts);

/// Sends LOOK and OUTCOME. Returns the process's exit code.
[[nodiscard]] int tell_look(const Result<WorkerLook>& look, ControlSocket& control);

struct PreflightRequest {
    std::uint64_t bytes_max = 0;  ///< 0: no limit.
    bool compares = false;        ///< Read the content and compute its digest.
    bool is_resumable = false;    ///< The object is as that of a stage that may be resumed.
};
/// Describes the source; includes its manifest if that fits into a message.
[[nodiscard]] Result<WorkerLook> look_at(std::vector<SourceOrder> orders,
                                         PreflightRequest request,
                                         Interrupts& interrupts);
/// Checks that the files of `manifest` have their destination and enough space.
[[nodiscard]] Result<WorkerLook> look_for_room(Bytes manifest, SinkConfig config);

}  // namespace stage

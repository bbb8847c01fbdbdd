// Sends a worker's requests to its node's cache.
//
// Before the source reads a file, it asks whether the cache knows its content. Before the first
// packet, a receiver asks whether the cache has the content. Once its files have their names,
// the worker offers them to the cache for later stages. (The cache's side is
// daemon/cache/node_cache.h.)
#pragma once

#include "stager/worker/broadcast/work.h"
#include "stager/worker/requests/orders.h"
#include "stager/worker/staging/control_socket.h"

#include <chrono>

namespace stage {

/// Requires that `control` outlives the result. If another stage of this node is reading the
/// file, this waits for it, at most `longest` for all files together; after that the file is
/// read.
[[nodiscard]] KnownContent known_content(ControlSocket& control,
                                         std::chrono::milliseconds longest);

/// Takes files from the cache if there is one, from the destinations, and from the partial
/// files that an earlier push left beside them or an earlier stage left in the cache. As
/// Work::fill(); `interrupts` can end it.
[[nodiscard]] Status take_what_is_here(Work& work,
                                       ControlSocket& control,
                                       Interrupts& interrupts,
                                       bool has_cache,
                                       std::chrono::milliseconds longest);
/// The limit on copying partial files, at most `longest`: blocks that are not copied by then
/// are sent instead, because the other members wait for READY.
[[nodiscard]] std::chrono::milliseconds resume_max(const Work& work, const WorkerSetup& setup);

/// The extra time that finishing may take, the same on all nodes: an archive or tree from the
/// cache is unpacked only then, with at least 10 MB and 1000 members per second.
[[nodiscard]] std::chrono::milliseconds unpack_max(const Work& work, const Orders& orders);

/// Reports the files being written, so that the cache can keep them if this stage is
/// interrupted.
void tell_in_progress(const FileSink& sink, ControlSocket& control);
/// Offers the staged files to the cache. Failures are ignored.
void keep_for_later(const FileSink& sink, ControlSocket& control);
/// Offers the staged trees, once the group has been released. It ends with `interrupts`, and
/// after a few seconds at the latest, since the worker is about to exit.
void keep_trees_for_later(const FileSink& sink, ControlSocket& control, Interrupts& interrupts);

}  // namespace stage

// What does a worker say to its node's cache?
//
// Before it reads: do you know what is in this file? Before the first packet: have you these
// bytes? And once its files are under their names: here they are, for the next one. (What the
// cache makes of that is daemon/cache/node_cache.h.)
#pragma once

#include "stager/worker/broadcast/work.h"
#include "stager/worker/requests/orders.h"
#include "stager/worker/staging/control_socket.h"

#include <chrono>

namespace stage {

/// `control` outlives it. Another stage of this node may be reading the file just now: then it
/// is waited for, at most so long for all files together; what comes then is read.
[[nodiscard]] KnownContent known_content(ControlSocket& control,
                                         std::chrono::milliseconds longest);

/// From the cache if there is one, from the destinations, and from what an earlier push left
/// beside them, or an earlier stage in the cache. As Work::fill(), and what ends the work ends
/// it.
[[nodiscard]] Status take_what_is_here(Work& work,
                                       ControlSocket& control,
                                       Interrupts& interrupts,
                                       bool has_cache,
                                       std::chrono::milliseconds longest);
/// How long it may copy what came before, `longest`: what is not copied by then is sent, and
/// others wait for READY.
[[nodiscard]] std::chrono::milliseconds take_up_max(const Work& work, const WorkerSetup& setup);

/// How much longer finishing may take, the same on all nodes: what a cache has of an archive or
/// a tree isn't unpacked while it comes, but then, with 10 MB and 1000 members a second at
/// least.
[[nodiscard]] std::chrono::milliseconds unpack_max(const Work& work, const Orders& orders);

/// What is being written, in case that this stage is broken off.
void tell_begun(const FileSink& sink, ControlSocket& control);
/// Who can't keep it only forgets it.
void keep_for_later(const FileSink& sink, ControlSocket& control);
/// The same of trees, once the group has been released: as long as nobody ends the work, and a
/// few seconds at most, since the worker is to leave.
void keep_trees_for_later(const FileSink& sink, ControlSocket& control, Interrupts& interrupts);

}  // namespace stage

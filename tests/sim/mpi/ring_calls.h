// The ring of short messages, as the library has it (short_ring.c), for a simulated rank.
#pragma once

#include "stager/mpi/bcast/member.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ring_calls;

// All ranks at once. NULL: it cannot be used.
struct ring_calls* ring_calls_open(stagecast_member* member);
// All ranks, one call after the other: the bytes of rank `source` are in those of all. Returns
// 0 if that went well.
int ring_calls_broadcast(struct ring_calls* calls, void* bytes, size_t count, int source);
void ring_calls_close(struct ring_calls* calls);

#ifdef __cplusplus
}
#endif

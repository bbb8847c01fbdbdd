#include "tests/sim/mpi/ring_calls.h"

#include "stager/mpi/bcast/short_ring.h"

#include <stdlib.h>

struct ring_calls {
    struct short_ring ring;
    stagecast_member* member;
};

struct ring_calls* ring_calls_open(stagecast_member* member) {
    struct ring_calls* const calls = calloc(1, sizeof *calls);
    int is_usable = 0;
    if (calls == NULL) {
        return NULL;
    }
    calls->member = member;
    if (short_ring_open(&calls->ring, 0, &is_usable) != MPI_SUCCESS || !is_usable) {
        ring_calls_close(calls);
        return NULL;
    }
    return calls;
}

int ring_calls_broadcast(struct ring_calls* calls, void* bytes, size_t count, int source) {
    size_t sent = 0;
    return short_ring_carry(&calls->ring, calls->member, bytes, count, source, &sent);
}

void ring_calls_close(struct ring_calls* calls) {
    short_ring_close(&calls->ring);
    free(calls);
}

#include "stager/mpi/bcast/short_ring.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

static struct {
    atomic_ullong packets;
    atomic_ullong sent;
    atomic_ullong by_multicast;
    atomic_ullong by_ring;
} counters;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct short_ring* open_rings;

int stagecast_await(MPI_Request* request, MPI_Status* status) {
    int is_done = 0;
    int error = PMPI_Test(request, &is_done, status);
    while (error == MPI_SUCCESS && !is_done) {
        (void)sched_yield();
        error = PMPI_Test(request, &is_done, status);
    }
    return error;
}

// ---- opening

static int next_of(const struct short_ring* ring) {
    return (ring->own + 1) % ring->size;
}
static int one_before(const struct short_ring* ring) {
    return (ring->own + ring->size - 1) % ring->size;
}

// To the next leader, before it can receive: MPI keeps the message, or waits.
static int try_to_send(const struct short_ring* ring, unsigned char* probe, int* is_kept) {
    enum { LOOKS = 1000 };
    MPI_Request barrier = MPI_REQUEST_NULL;
    MPI_Request sending = MPI_REQUEST_NULL;
    unsigned char* const got = probe + STAGECAST_SHORT_BYTES;
    *is_kept = 0;
    int error = PMPI_Isend(
        probe, STAGECAST_SHORT_BYTES, MPI_BYTE, next_of(ring), TAG, ring->leaders, &sending);
    for (int i = 0; error == MPI_SUCCESS && !*is_kept && i < LOOKS; ++i) {
        (void)sched_yield();
        error = PMPI_Test(&sending, is_kept, MPI_STATUS_IGNORE);
    }
    if (error == MPI_SUCCESS) {
        error = PMPI_Ibarrier(ring->leaders, &barrier);
    }
    if (error == MPI_SUCCESS) {
        error = stagecast_await(&barrier, MPI_STATUS_IGNORE);
    }
    if (error == MPI_SUCCESS && !*is_kept) {
        error = PMPI_Test(&sending, is_kept, MPI_STATUS_IGNORE);
    }
    if (error == MPI_SUCCESS) {
        error = PMPI_Recv(got,
                          STAGECAST_SHORT_BYTES,
                          MPI_BYTE,
                          one_before(ring),
                          TAG,
                          ring->leaders,
                          MPI_STATUS_IGNORE);
    }
    return error == MPI_SUCCESS ? stagecast_await(&sending, MPI_STATUS_IGNORE) : error;
}

int short_ring_open(struct short_ring* ring, MPI_Comm leaders, int* is_usable) {
    unsigned char probe[2 * STAGECAST_SHORT_BYTES] = {0};
    *is_usable = 0;
    ring->leaders = leaders;
    for (int i = 0; i < STAGECAST_SHORT_CALLS_AHEAD; ++i) {
        ring->receives[i] = MPI_REQUEST_NULL;
    }
    (void)PMPI_Comm_rank(leaders, &ring->own);
    (void)PMPI_Comm_size(leaders, &ring->size);
    // A leader without memory takes part in what follows all the same: the others wait for it.
    ring->kept = calloc(STAGECAST_SHORT_CALLS_AHEAD, STAGECAST_SHORT_BYTES);
    if (ring->kept != NULL) {
        (void)pthread_mutex_lock(&mutex);
        ring->next_open = open_rings;
        open_rings = ring;
        (void)pthread_mutex_unlock(&mutex);
    }
    // The first message between two leaders may have to make a connection.
    int error = PMPI_Sendrecv(probe,
                              1,
                              MPI_BYTE,
                              next_of(ring),
                              TAG,
                              probe + 1,
                              1,
                              MPI_BYTE,
                              one_before(ring),
                              TAG,
                              leaders,
                              MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS) {
        error = try_to_send(ring, probe, is_usable);
    }
    *is_usable = *is_usable && ring->kept != NULL;
    return error;
}

// ---- one call

int short_length_error(size_t sent, size_t named) {
#ifdef OPEN_MPI
    const int fits = sent > 0 && sent <= named;
#else
    const int fits = sent == named;
#endif
    return fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

// What a leader passes on: the message as its source sent it, whatever length is named here. Without
// bytes it says that there is none, and is an error of each leader that it reaches.
struct onward {
    const void* bytes;
    size_t count;
};

static int take_from_ring(const MPI_Status* status,
                          void* bytes,
                          size_t count,
                          const void* kept,
                          struct onward* onward) {
    int got = 0;
    const int error = PMPI_Get_count(status, MPI_BYTE, &got);
    if (error != MPI_SUCCESS) {
        return error;
    }
    *onward = (struct onward){kept, (size_t)got};
    memcpy(bytes, kept, (size_t)got < count ? (size_t)got : count);
    return short_length_error((size_t)got, count);
}

// By multicast or from the leader before, whichever is first.
static int receive(struct short_ring* ring,
                   stagecast_member* member,
                   uint64_t call,
                   void* bytes,
                   size_t count,
                   int source,
                   struct onward* onward) {
    const uint64_t slot = call % STAGECAST_SHORT_CALLS_AHEAD;
    unsigned char* const kept = ring->kept + slot * STAGECAST_SHORT_BYTES;
    MPI_Status status;
    int is_here = 0;
    int error = PMPI_Irecv(kept,
                           STAGECAST_SHORT_BYTES,
                           MPI_BYTE,
                           one_before(ring),
                           TAG,
                           ring->leaders,
                           &ring->receives[slot]);
    while (error == MPI_SUCCESS) {
        if (stagecast_member_take_short(member, call, source, bytes, count)) {
            atomic_fetch_add(&counters.by_multicast, 1);
            *onward = (struct onward){bytes, count};
            return MPI_SUCCESS;
        }
        if (is_here) {
            atomic_fetch_add(&counters.by_ring, 1);
            return take_from_ring(&status, bytes, count, kept, onward);
        }
        error = PMPI_Test(&ring->receives[slot], &is_here, &status);
        if (!is_here) {
            (void)sched_yield();
        }
    }
    return error;
}

int short_ring_carry(struct short_ring* ring,
                     stagecast_member* member,
                     void* bytes,
                     size_t count,
                     int source,
                     size_t* sent) {
    const uint64_t call = ring->calls++;
    struct onward onward = {bytes, 0};
    int error =
        stagecast_await(&ring->receives[call % STAGECAST_SHORT_CALLS_AHEAD], MPI_STATUS_IGNORE);
    if (ring->own != source && error == MPI_SUCCESS) {
        error = receive(ring, member, call, bytes, count, source, &onward);
    } else if (count > 0 && error == MPI_SUCCESS) {
        const int packets = stagecast_member_send_short(member, call, bytes, count);
        atomic_fetch_add(&counters.packets, (unsigned long long)packets);
        atomic_fetch_add(&counters.sent, 1);
        onward.count = count;
    }
    *sent = onward.count;
    // (Also after an error: the next leader waits for it.)
    const int passed =
        next_of(ring) == source
            ? MPI_SUCCESS
            : PMPI_Send(
                  onward.bytes, (int)onward.count, MPI_BYTE, next_of(ring), TAG, ring->leaders);
    return error == MPI_SUCCESS ? passed : error;
}

// ---- the end

static void end_receives(struct short_ring* ring) {
    for (int i = 0; i < STAGECAST_SHORT_CALLS_AHEAD; ++i) {
        (void)stagecast_await(&ring->receives[i], MPI_STATUS_IGNORE);
    }
}

void short_ring_close(struct short_ring* ring) {
    if (ring->kept == NULL) {
        return;
    }
    end_receives(ring);
    (void)pthread_mutex_lock(&mutex);
    struct short_ring** place = &open_rings;
    while (*place != ring) {
        place = &(*place)->next_open;
    }
    *place = ring->next_open;
    (void)pthread_mutex_unlock(&mutex);
    free(ring->kept);
    ring->kept = NULL;
}

void short_rings_close(void) {
    while (open_rings != NULL) {
        short_ring_close(open_rings);
    }
}

struct short_counts short_ring_counts(void) {
    return (struct short_counts){atomic_load(&counters.packets),
                                 atomic_load(&counters.sent),
                                 atomic_load(&counters.by_multicast),
                                 atomic_load(&counters.by_ring)};
}

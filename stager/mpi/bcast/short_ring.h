// Carries short messages between the leaders of a communicator: by multicast, and in any case
// from leader to leader, in a ring that begins at the source.
//
// A leader that has the message by either way sends it to the next one and leaves. So each gets
// it whatever multicast loses, and none waits for another that multicast reached.
#pragma once

#include "stager/mpi/bcast/member.h"

#include <mpi.h>

// How far a leader may be ahead of the one before it, in calls.
enum { STAGECAST_SHORT_CALLS_AHEAD = 32 };

// Zeroed, it is closed.
struct short_ring {
    MPI_Comm leaders;
    int own;
    int size;
    uint64_t calls;
    // The last calls' receives from the leader before, which go on when multicast was first,
    // and their memory.
    MPI_Request receives[STAGECAST_SHORT_CALLS_AHEAD];
    unsigned char* kept;
    struct short_ring* next_open;
};

// Waits like PMPI_Wait, for processes that have a processor for themselves, and for others.
int stagecast_await(MPI_Request* request, MPI_Status* status);

// All leaders at once. Returns an error of MPI, and whether the ring can be used at this
// leader: only if MPI sends messages of the largest size without waiting for their receiver.
int short_ring_open(struct short_ring* ring, MPI_Comm leaders, int* is_usable);
// What the MPI makes of a message of `sent` bytes where `named` are expected: an error, or,
// with Open MPI, none if there is room. One without bytes says that its source has none.
int short_length_error(size_t sent, size_t named);
// Called at all leaders alike: the bytes of leader `source` are in those of all, as far as
// there is room, and `sent` is their number there. Returns short_length_error() of that at a
// leader that names another length; the others get the message all the same.
int short_ring_carry(struct short_ring* ring,
                     stagecast_member* member,
                     void* bytes,
                     size_t count,
                     int source,
                     size_t* sent);
// Waits until the leader before has made all its calls. To be called before `leaders` ends.
void short_ring_close(struct short_ring* ring);
// All that are open: before MPI ends.
void short_rings_close(void);

// Counts of this process.
struct short_counts {
    unsigned long long packets;  // Multicast by it.
    unsigned long long sent;     // Calls in which it was the source,
    unsigned long long
        by_multicast;  // and in which it got the message in that way or the other.
    unsigned long long by_ring;
};
struct short_counts short_ring_counts(void);

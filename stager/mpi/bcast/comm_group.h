// What the library keeps of a communicator: which rank is on which node, and the group.
#pragma once

#include "stager/mpi/bcast/choice.h"
#include "stager/mpi/bcast/member.h"
#include "stager/mpi/bcast/retry.h"
#include "stager/mpi/bcast/short_ring.h"

#include <mpi.h>

struct comm_group {
    int is_made;   // As far as it will be.
    int is_used;   // The ranks are on enough nodes, and all of these can take part,
    int is_short;  // also in short messages.
    int size;
    int node_count;
    int own_node;                    // Nodes are numbered by their lowest ranks.
    int* node_of;                    // By rank.
    int* place_of;                   // By rank: its rank among those of its node.
    MPI_Comm node;                   // The ranks of this node,
    int node_size;                   // and their number.
    MPI_Comm leaders;                // The first rank of each node; MPI_COMM_NULL on others.
    stagecast_member* member;        // On leaders.
    struct stagecast_record record;  // Of the group's sessions.
    struct stagecast_trial trials[STAGECAST_CLASSES];
    struct short_ring ring;  // On leaders.
    int short_calls;         // Before it was made.
    struct stagecast_trial short_trials[STAGECAST_SHORT_CLASSES];
};

// One that is not made, without communication. NULL: memory is exhausted.
struct comm_group* comm_group_none(MPI_Comm comm);
struct comm_message {
    void* buffer;
    int count;
    MPI_Datatype datatype;
    size_t bytes;
    int is_short;
};

// All ranks of `comm` at once, for their first message that is worth it. Returns an error of
// MPI. That of a communicator which cannot have a group is not used; where the paths between
// the nodes have to be left for a while, the next message tries again.
int comm_group_make(struct comm_group* group,
                    MPI_Comm comm,
                    const struct comm_message* message,
                    const struct stagecast_settings* settings);
// From now on no communicator of this process gets a group.
void comm_group_forbid(void);
// Short messages may be faster on this number of nodes.
enum { STAGECAST_SHORT_NODES_MIN = 8 };
// All ranks of the communicator at once: frees what it has of MPI.
void comm_group_release(struct comm_group* group);
// The rest, without communication.
void comm_group_free(struct comm_group* group);

// How a message went: by the group; by the MPI after the group had failed; or by the MPI
// alone, because the ranks name different numbers of bytes, lack memory for a copy, or wait
// before they try again.
enum { COMM_GROUP_CARRIED, COMM_GROUP_FAILED, COMM_GROUP_LEFT };

// All ranks at once. Returns an error of MPI, which the communicator's error handler has seen.
int comm_group_broadcast(struct comm_group* group,
                         MPI_Comm comm,
                         const struct comm_message* message,
                         int root,
                         const struct stagecast_settings* settings,
                         int* outcome);

// Makes the groups of communicators, and broadcasts by them.
#include "stager/mpi/bcast/comm_group.h"

#include "stager/mpi/bcast/mpi_behind.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES_MIN = 3, NODES_MIN_FORCED = 2 };
// (A switch may need longer than the first session to forward a new group.)
enum { FAILURES_MAX = 2 };
// Each group has two communicators of the MPI's, and MPICH has 2,048 for a process. The program needs them.
enum { GROUPS_MAX = 64 };

static atomic_int groups;         // Of this process, that are used.
static atomic_int are_forbidden;  // New ones.

// ---- making

// Settings are agreed in each MPI_COMM_WORLD. A communicator with ranks of another, spawned or
// connected, has no group: each of its ranks finds one of another, and no message is needed. (A
// program that begins a session only has no MPI_COMM_WORLD.)
static int is_of_one_world(MPI_Comm comm, int size) {
    MPI_Group here = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    int* ranks = malloc(2 * (size_t)size * sizeof(int));
    int has_world = 0;
    int is_one = ranks != NULL && PMPI_Initialized(&has_world) == MPI_SUCCESS && has_world &&
                 PMPI_Comm_group(comm, &here) == MPI_SUCCESS &&
                 PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS;
    for (int i = 0; ranks != NULL && i < size; ++i) {
        ranks[i] = i;
        ranks[size + i] = MPI_UNDEFINED;
    }
    is_one = is_one &&
             PMPI_Group_translate_ranks(here, size, ranks, world, ranks + size) == MPI_SUCCESS;
    for (int i = 0; is_one && i < size; ++i) {
        is_one = ranks[size + i] != MPI_UNDEFINED;
    }
    if (here != MPI_GROUP_NULL) {
        (void)PMPI_Group_free(&here);
    }
    if (world != MPI_GROUP_NULL) {
        (void)PMPI_Group_free(&world);
    }
    free(ranks);
    return is_one;
}

// Whether each rank may have one more group.
static int agree_on_room(MPI_Comm comm, int* has_room) {
    const int own = atomic_load(&groups) < GROUPS_MAX && !atomic_load(&are_forbidden);
    return PMPI_Allreduce(&own, has_room, 1, MPI_INT, MPI_MIN, comm);
}

void comm_group_forbid(void) {
    atomic_store(&are_forbidden, 1);
}

// Nodes, leaders and their numbers.
static int split(MPI_Comm comm, int rank, struct comm_group* group) {
    int place = 0;
    int numbers[2] = {0, 0};
    int error =
        PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &group->node);
    if (error == MPI_SUCCESS) {
        error = PMPI_Comm_rank(group->node, &place);
    }
    if (error == MPI_SUCCESS) {
        error = PMPI_Comm_split(comm, place == 0 ? 0 : MPI_UNDEFINED, rank, &group->leaders);
    }
    if (error == MPI_SUCCESS && group->leaders != MPI_COMM_NULL) {
        (void)PMPI_Comm_rank(group->leaders, &numbers[0]);
        (void)PMPI_Comm_size(group->leaders, &numbers[1]);
    }
    if (error == MPI_SUCCESS) {
        error = mpi_behind.bcast(numbers, 2, MPI_INT, 0, group->node);
    }
    group->own_node = numbers[0];
    group->node_count = numbers[1];
    return error;
}

static int learn_places(MPI_Comm comm, struct comm_group* group) {
    int own[2] = {group->own_node, 0};
    int* all = malloc(2 * (size_t)group->size * sizeof(int));
    group->node_of = malloc((size_t)group->size * sizeof(int));
    group->place_of = malloc((size_t)group->size * sizeof(int));
    if (all == NULL || group->node_of == NULL || group->place_of == NULL) {
        free(all);
        return MPI_ERR_NO_MEM;
    }
    (void)PMPI_Comm_rank(group->node, &own[1]);
    const int error = PMPI_Allgather(own, 2, MPI_INT, all, 2, MPI_INT, comm);
    for (int i = 0; error == MPI_SUCCESS && i < group->size; ++i) {
        group->node_of[i] = all[2 * i];
        group->place_of[i] = all[2 * i + 1];
    }
    free(all);
    return error;
}

static int gather_records(const struct comm_group* group,
                          const unsigned char* own,
                          unsigned char* all) {
    return PMPI_Allgather(own,
                          STAGECAST_RECORD_BYTES,
                          MPI_BYTE,
                          all,
                          STAGECAST_RECORD_BYTES,
                          MPI_BYTE,
                          group->leaders);
}

// Whether the group is to carry short messages; the same on all leaders.
static int has_short(const struct comm_group* group,
                     const struct stagecast_settings* settings) {
    return settings->short_bytes > 0 && (settings->mode == STAGECAST_BCAST_FORCE ||
                                         group->node_count >= STAGECAST_SHORT_NODES_MIN);
}

// Leaders only. Whether this one can take part, and in short messages.
static int meet(struct comm_group* group,
                const struct stagecast_settings* settings,
                int is_ready[2]) {
    unsigned char own[STAGECAST_RECORD_BYTES] = {0};
    unsigned char* all = malloc((size_t)group->node_count * STAGECAST_RECORD_BYTES);
    if (all == NULL) {
        return MPI_ERR_NO_MEM;
    }
    group->member = stagecast_member_open(own);
    int error = gather_records(group, own, all);
    if (error == MPI_SUCCESS) {
        stagecast_member_meet(group->member, all, group->node_count, group->own_node, own);
        error = gather_records(group, own, all);
    }
    is_ready[0] = error == MPI_SUCCESS && stagecast_member_join(group->member, all);
    free(all);
    is_ready[1] = 0;
    if (error == MPI_SUCCESS && has_short(group, settings)) {
        error = short_ring_open(&group->ring, group->leaders, &is_ready[1]);
        is_ready[1] = is_ready[0] && is_ready[1] && stagecast_member_open_short(group->member);
    }
    return error;
}

static int join(MPI_Comm comm,
                const struct stagecast_settings* settings,
                struct comm_group* group) {
    int is_ready[2] = {1, 1};
    int is_agreed[2] = {0, 0};
    int error = learn_places(comm, group);
    if (error == MPI_SUCCESS && group->leaders != MPI_COMM_NULL) {
        error = meet(group, settings, is_ready);
    }
    if (!is_ready[0] && settings->is_verbose) {
        fprintf(stderr,
                "stagecast: node %d of a communicator of %d ranks: %s\n",
                group->own_node,
                group->size,
                stagecast_member_error(group->member));
    }
    if (error == MPI_SUCCESS) {
        error = PMPI_Allreduce(is_ready, is_agreed, 2, MPI_INT, MPI_MIN, comm);
    }
    group->is_used = is_agreed[0];
    group->is_short = is_agreed[1] && has_short(group, settings);
    return error;
}

struct comm_group* comm_group_none(MPI_Comm comm) {
    struct comm_group* const group = calloc(1, sizeof *group);
    if (group != NULL) {
        (void)PMPI_Comm_size(comm, &group->size);
        group->node = MPI_COMM_NULL;
        group->leaders = MPI_COMM_NULL;
    }
    return group;
}

int comm_group_make(struct comm_group* group,
                    MPI_Comm comm,
                    const struct stagecast_settings* settings) {
    const int least = settings->mode == STAGECAST_BCAST_FORCE ? NODES_MIN_FORCED : NODES_MIN;
    int rank = 0;
    int has_room = 0;
    int error = PMPI_Comm_rank(comm, &rank);
    group->is_made = 1;
    if (error == MPI_SUCCESS && group->size >= least && is_of_one_world(comm, group->size)) {
        error = agree_on_room(comm, &has_room);
        if (!has_room && rank == 0 && settings->is_verbose) {
            fprintf(
                stderr,
                "stagecast: a communicator of %d ranks: %d others have groups, or a rank has "
                "called MPI_Comm_idup\n",
                group->size,
                GROUPS_MAX);
        }
    }
    if (error == MPI_SUCCESS && has_room) {
        error = split(comm, rank, group);
        if (error == MPI_SUCCESS && group->node_count >= least) {
            error = join(comm, settings, group);
        }
    }
    if (group->is_used) {
        atomic_fetch_add(&groups, 1);
    } else {
        comm_group_release(group);
    }
    return error;
}

void comm_group_release(struct comm_group* group) {
    atomic_fetch_sub(&groups, group->is_used != 0);
    group->is_used = 0;
    short_ring_close(&group->ring);
    stagecast_member_close(group->member);
    group->member = NULL;
    if (group->leaders != MPI_COMM_NULL) {
        (void)mpi_behind.comm_free(&group->leaders);
    }
    if (group->node != MPI_COMM_NULL) {
        (void)mpi_behind.comm_free(&group->node);
    }
}

void comm_group_free(struct comm_group* group) {
    atomic_fetch_sub(&groups, group->is_used != 0);
    short_ring_close(&group->ring);
    stagecast_member_close(group->member);
    free(group->node_of);
    free(group->place_of);
    free(group);
}

// ---- broadcasting

static int barrier(MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = PMPI_Ibarrier(comm, &request);
    return error == MPI_SUCCESS ? stagecast_await(&request, MPI_STATUS_IGNORE) : error;
}

// How all leaders learn that each has the message, or that one has failed: while a leader still
// broadcasts, so that it serves those that lack something until all have it.
struct agreement {
    MPI_Comm leaders;
    MPI_Request request;
    int is_posted;
    int is_known;
    int error;
    int64_t own[2];  // Whether this leader has it; the rate that it knows, negated.
    int64_t all[2];  // The least of each.
};

static void post(struct agreement* agreement, int is_held) {
    agreement->is_posted = 1;
    agreement->own[0] = is_held;
    agreement->error = PMPI_Iallreduce(agreement->own,
                                       agreement->all,
                                       2,
                                       MPI_INT64_T,
                                       MPI_MIN,
                                       agreement->leaders,
                                       &agreement->request);
}

// (What else the process has to send and to receive goes on meanwhile: that is MPI's progress.)
static int may_leave(void* context, int state) {
    struct agreement* const agreement = context;
    if (state == STAGECAST_MOVES) {
        int found = 0;
        (void)PMPI_Iprobe(
            MPI_ANY_SOURCE, MPI_ANY_TAG, agreement->leaders, &found, MPI_STATUS_IGNORE);
        return 0;
    }
    if (!agreement->is_posted) {
        post(agreement, state == STAGECAST_HOLDS);
    }
    if (agreement->error == MPI_SUCCESS && !agreement->is_known) {
        agreement->error =
            PMPI_Test(&agreement->request, &agreement->is_known, MPI_STATUS_IGNORE);
    }
    return agreement->is_known || agreement->error != MPI_SUCCESS;
}

static int agree(struct agreement* agreement, int state) {
    if (!agreement->is_posted) {
        post(agreement, state == STAGECAST_HOLDS);
    }
    if (agreement->error == MPI_SUCCESS && !agreement->is_known) {
        agreement->error = stagecast_await(&agreement->request, MPI_STATUS_IGNORE);
    }
    return agreement->error;
}

// Among leaders, from that of node `source`. Each may have come late: MPI goes on while they wait
// for each other, and then all begin at once.
static int cross(
    struct comm_group* group, void* bytes, size_t count, int source, int* was_carried) {
    const int64_t rate = (int64_t)stagecast_member_rate(group->member);
    struct agreement agreement = {
        .leaders = group->leaders, .request = MPI_REQUEST_NULL, .own = {0, -rate}};
    const int is_tried = group->failures < FAILURES_MAX;
    int error = is_tried ? barrier(group->leaders) : MPI_SUCCESS;
    *was_carried = 0;
    if (error == MPI_SUCCESS && is_tried) {
        const int state = stagecast_member_broadcast(
            group->member, source, bytes, count, may_leave, &agreement);
        error = agree(&agreement, state);
        *was_carried = error == MPI_SUCCESS && agreement.all[0] == 1;
        group->failures = *was_carried ? 0 : group->failures + 1;
    }
    if (*was_carried && agreement.all[1] < 0 && stagecast_member_rate(group->member) == 0) {
        stagecast_member_set_rate(group->member, (uint64_t)-agreement.all[1]);
    }
    return *was_carried || error != MPI_SUCCESS
               ? error
               : mpi_behind.bcast(bytes, (int)count, MPI_BYTE, source, group->leaders);
}

// Bytes as they travel: in the root's node, between nodes, in the other nodes.
static int carry(struct comm_group* group,
                 const struct comm_message* message,
                 void* bytes,
                 int root,
                 int* was_carried) {
    const int source = group->node_of[root];
    const size_t count = message->bytes;
    int error = MPI_SUCCESS;
    if (group->own_node == source) {
        error =
            mpi_behind.bcast(bytes, (int)count, MPI_BYTE, group->place_of[root], group->node);
    }
    if (error == MPI_SUCCESS && group->leaders != MPI_COMM_NULL) {
        error = message->is_short
                    ? short_ring_carry(&group->ring, group->member, bytes, count, source)
                    : cross(group, bytes, count, source, was_carried);
    }
    if (error == MPI_SUCCESS && group->own_node != source) {
        error = mpi_behind.bcast(bytes, (int)count, MPI_BYTE, 0, group->node);
    }
    return error;
}

// (MPICH's older call aborts the program for a type that a call with large counts has made.)
static int is_named(MPI_Datatype datatype) {
    int combiner = 0;
#if MPI_VERSION >= 4
    MPI_Count integers = 0;
    MPI_Count addresses = 0;
    MPI_Count counts = 0;
    MPI_Count types = 0;
    const int error =
        PMPI_Type_get_envelope_c(datatype, &integers, &addresses, &counts, &types, &combiner);
#else
    int integers = 0;
    int addresses = 0;
    int types = 0;
    const int error =
        PMPI_Type_get_envelope(datatype, &integers, &addresses, &types, &combiner);
#endif
    return error == MPI_SUCCESS && combiner == MPI_COMBINER_NAMED;
}

// Whether the order in memory is that of the type map, without gaps. (A type of the same extent
// may have its parts in another order.)
static int is_plain(MPI_Datatype datatype) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    int size = 0;
    return PMPI_Type_get_extent(datatype, &lower, &extent) == MPI_SUCCESS && lower == 0 &&
           PMPI_Type_size(datatype, &size) == MPI_SUCCESS && extent == size &&
           is_named(datatype);
}

// What the MPI says of the arguments, at each rank by itself: of a datatype that is not committed, for
// instance.
static int check(const struct comm_message* message, MPI_Comm comm) {
    return PMPI_Send(
        message->buffer, message->count, message->datatype, MPI_PROC_NULL, 0, comm);
}

// Other ranks may need no copy, so there is no agreement in which they could hear of it.
static int lack_memory(MPI_Comm comm) {
    (void)PMPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

static int carry_packed(struct comm_group* group,
                        MPI_Comm comm,
                        const struct comm_message* message,
                        int root,
                        int* was_carried) {
    int rank = 0;
    int position = 0;
    void* const packed = malloc(message->bytes);
    int error = packed == NULL ? lack_memory(comm) : PMPI_Comm_rank(comm, &rank);
    if (error == MPI_SUCCESS && rank == root) {
        error = PMPI_Pack(message->buffer,
                          message->count,
                          message->datatype,
                          packed,
                          (int)message->bytes,
                          &position,
                          comm);
    }
    if (error == MPI_SUCCESS) {
        error = carry(group, message, packed, root, was_carried);
    }
    if (error == MPI_SUCCESS && rank != root) {
        error = PMPI_Unpack(packed,
                            (int)message->bytes,
                            &position,
                            message->buffer,
                            message->count,
                            message->datatype,
                            comm);
    }
    free(packed);
    return error;
}

// MPICH's MPI_Pack and MPI_Unpack refuse MPI_BOTTOM: the same places in memory, seen from `here`. The
// datatype is to be freed.
static int move_from_bottom(struct comm_message* message, char* here) {
    MPI_Aint place = 0;
    MPI_Datatype moved = MPI_DATATYPE_NULL;
    int error = PMPI_Get_address(here, &place);
    place = -place;
    if (error == MPI_SUCCESS) {
        error =
            PMPI_Type_create_hindexed(1, &message->count, &place, message->datatype, &moved);
    }
    *message = (struct comm_message){here, 1, moved, message->bytes, message->is_short};
    return error == MPI_SUCCESS ? PMPI_Type_commit(&message->datatype) : error;
}

int comm_group_broadcast(struct comm_group* group,
                         MPI_Comm comm,
                         const struct comm_message* message,
                         int root,
                         int* was_carried) {
    char here = 0;
    struct comm_message moved = *message;
    *was_carried = 1;  // (Ranks that are no leaders do not know better.)
    int error = check(message, comm);
    if (error == MPI_SUCCESS && is_plain(message->datatype)) {
        return carry(group, message, message->buffer, root, was_carried);
    }
    if (error != MPI_SUCCESS || message->buffer != MPI_BOTTOM) {
        return error == MPI_SUCCESS ? carry_packed(group, comm, message, root, was_carried)
                                    : error;
    }
    error = move_from_bottom(&moved, &here);
    if (error == MPI_SUCCESS) {
        error = carry_packed(group, comm, &moved, root, was_carried);
        (void)PMPI_Type_free(&moved.datatype);
    }
    return error;
}

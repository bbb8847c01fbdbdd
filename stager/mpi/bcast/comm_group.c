// Makes the groups of communicators, and broadcasts by them.
#include "stager/mpi/bcast/comm_group.h"

#include "stager/mpi/bcast/mpi_behind.h"
#include "stager/mpi/bcast/watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MIN = 3, NODES_MIN_FORCED = 2 };
// Each group has two communicators of the MPI's, and MPICH has 2,048 for a process. The program needs them.
enum { GROUPS_MAX = 64 };

static atomic_int groups;         // Of this process, that are used.
static atomic_int are_forbidden;  // New ones.

// What this process knows of the paths to other nodes, by the sessions of all its communicators.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct stagecast_paths paths;

static int must_wait(const struct comm_group* group) {
    (void)pthread_mutex_lock(&mutex);
    const int must = stagecast_must_wait(&paths, &group->record, PMPI_Wtime());
    (void)pthread_mutex_unlock(&mutex);
    return must;
}

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

// What all ranks agree on before a group is made: whether each may have one more, and whether none has to
// wait. (Short messages need no path but the MPI's.)
enum { HAS_ROOM, MAY_TRY, CONDITIONS };
static int agree_to_make(const struct comm_group* group,
                         MPI_Comm comm,
                         const struct comm_message* message,
                         int* conditions) {
    const int own[CONDITIONS] = {
        atomic_load(&groups) < GROUPS_MAX && !atomic_load(&are_forbidden),
        message->is_short || !must_wait(group)};
    watch_begin(message->bytes, group->size);
    const int error = PMPI_Allreduce(own, conditions, CONDITIONS, MPI_INT, MPI_MIN, comm);
    watch_end();
    return error;
}

// A program may make communicators without end: a kind of refusal is said once.
static int is_news(atomic_int* is_said, const struct stagecast_settings* settings) {
    return settings->is_verbose && !atomic_exchange(is_said, 1);
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
    if (error == MPI_SUCCESS) {
        error = PMPI_Comm_size(group->node, &group->node_size);
    }
    // (Errors are those of the program's communicator: see end_with().)
    if (group->node != MPI_COMM_NULL) {
        (void)PMPI_Comm_set_errhandler(group->node, MPI_ERRORS_RETURN);
    }
    if (group->leaders != MPI_COMM_NULL) {
        (void)PMPI_Comm_set_errhandler(group->leaders, MPI_ERRORS_RETURN);
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
        stagecast_member_meet(group->member,
                              all,
                              group->node_count,
                              group->own_node,
                              has_short(group, settings),
                              own);
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
    static atomic_int is_said;
    if (!is_ready[0] && is_news(&is_said, settings)) {
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

// Ranks of one world, on as many nodes as it takes.
static int make(struct comm_group* group,
                MPI_Comm comm,
                int least,
                const struct stagecast_settings* settings) {
    int rank = 0;
    int error = PMPI_Comm_rank(comm, &rank);
    if (error == MPI_SUCCESS) {
        error = split(comm, rank, group);
    }
    if (error == MPI_SUCCESS && group->node_count >= least) {
        error = join(comm, settings, group);
    }
    return error;
}

int comm_group_make(struct comm_group* group,
                    MPI_Comm comm,
                    const struct comm_message* message,
                    const struct stagecast_settings* settings) {
    static atomic_int is_said;
    const int least = settings->mode == STAGECAST_BCAST_FORCE ? NODES_MIN_FORCED : NODES_MIN;
    int conditions[CONDITIONS] = {0, 1};
    int error = MPI_SUCCESS;
    if (group->size >= least && is_of_one_world(comm, group->size)) {
        error = agree_to_make(group, comm, message, conditions);
        if (!conditions[HAS_ROOM] && is_news(&is_said, settings)) {
            fprintf(
                stderr,
                "stagecast: a communicator of %d ranks, and others after it: %d others have "
                "groups, or a rank has called MPI_Comm_idup\n",
                group->size,
                GROUPS_MAX);
        }
    }
    group->is_made = !conditions[HAS_ROOM] || conditions[MAY_TRY];
    if (error == MPI_SUCCESS && conditions[HAS_ROOM] && conditions[MAY_TRY]) {
        error = make(group, comm, least, settings);
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

// What all ranks agree on before a long message travels, the least of each: the fewest and, negated,
// the most bytes that a rank names, and whether each can begin.
enum { FEWEST, MOST, CAN_BEGIN, TERMS };

// By the leaders: so all come late by no more than a message within a node, and then begin at once. MPI
// goes on while they wait for each other.
static int agree_to_begin(struct comm_group* group, int64_t* terms) {
    int64_t least[TERMS] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    int error = PMPI_Reduce(terms, least, TERMS, MPI_INT64_T, MPI_MIN, 0, group->node);
    if (error == MPI_SUCCESS && group->leaders != MPI_COMM_NULL) {
        error = PMPI_Iallreduce(
            least, terms, TERMS, MPI_INT64_T, MPI_MIN, group->leaders, &request);
        if (error == MPI_SUCCESS) {
            error = stagecast_await(&request, MPI_STATUS_IGNORE);
        }
    }
    return error == MPI_SUCCESS ? mpi_behind.bcast(terms, TERMS, MPI_INT64_T, 0, group->node)
                                : error;
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

// Among leaders, from that of node `source`. One that has the wrong bytes, by an error within its
// node, does not begin, so that all fail.
static int cross(struct comm_group* group,
                 void* bytes,
                 size_t count,
                 int source,
                 int has_error,
                 int* outcome) {
    const int64_t rate = (int64_t)stagecast_member_rate(group->member);
    struct agreement agreement = {
        .leaders = group->leaders, .request = MPI_REQUEST_NULL, .own = {0, -rate}};
    int state = STAGECAST_FAILS;
    if (has_error) {
        stagecast_member_skip(group->member);
    } else {
        state = stagecast_member_broadcast(
            group->member, source, bytes, count, may_leave, &agreement);
    }
    const int error = agree(&agreement, state);
    const int is_carried = error == MPI_SUCCESS && agreement.all[0] == 1;
    *outcome = is_carried ? COMM_GROUP_CARRIED : COMM_GROUP_FAILED;
    if (is_carried && agreement.all[1] < 0 && stagecast_member_rate(group->member) == 0) {
        stagecast_member_set_rate(group->member, (uint64_t)-agreement.all[1]);
    }
    return error;
}

// At all ranks, so that the communicators of each know it.
static void note(struct comm_group* group,
                 int outcome,
                 const struct stagecast_settings* settings) {
    static atomic_int is_said;
    int seconds = 0;
    (void)pthread_mutex_lock(&mutex);
    if (outcome == COMM_GROUP_CARRIED) {
        stagecast_note_success(&paths, &group->record);
    } else {
        seconds = stagecast_note_failure(&paths, &group->record, PMPI_Wtime());
    }
    (void)pthread_mutex_unlock(&mutex);
    const int is_first = group->leaders != MPI_COMM_NULL && group->own_node == 0;
    if (outcome == COMM_GROUP_FAILED && is_first && settings->is_verbose) {
        fprintf(stderr,
                "stagecast: a group of %d nodes failed, and the MPI repeats the message: %s\n",
                group->node_count,
                stagecast_member_error(group->member));
    }
    if (seconds > 0 && (!atomic_exchange(&is_said, 1) || settings->is_verbose) && is_first) {
        fprintf(stderr,
                "stagecast: MPI_Bcast of long messages is left to the MPI for %d s, because "
                "multicast between %d nodes failed (%s); open UDP between them, or set "
                "STAGECAST_BCAST=off\n",
                seconds,
                group->node_count,
                stagecast_member_error(group->member));
    }
}

// A long message as it travels: in the root's node, between nodes, in the other nodes. A rank
// that is not ready keeps all from it. If the group fails errors of this rank alone do not
// count: all ranks call the MPI.
static int carry_long(struct comm_group* group,
                      const struct comm_message* message,
                      void* bytes,
                      int root,
                      int is_ready,
                      const struct stagecast_settings* settings,
                      int* outcome) {
    const int source = group->node_of[root];
    const int count = (int)message->bytes;
    int64_t terms[TERMS] = {count, -count, is_ready && !must_wait(group)};
    watch_begin(message->bytes, group->size);
    int error = agree_to_begin(group, terms);
    watch_end();
    *outcome = COMM_GROUP_LEFT;
    if (error != MPI_SUCCESS || terms[FEWEST] != -terms[MOST] || !terms[CAN_BEGIN]) {
        return error;
    }
    if (group->own_node == source) {
        error = mpi_behind.bcast(bytes, count, MPI_BYTE, group->place_of[root], group->node);
    }
    if (group->leaders != MPI_COMM_NULL) {
        const int crossed =
            cross(group, bytes, message->bytes, source, error != MPI_SUCCESS, outcome);
        error = error == MPI_SUCCESS ? crossed : error;
    }
    const int shared = mpi_behind.bcast(outcome, 1, MPI_INT, 0, group->node);
    error = error == MPI_SUCCESS ? shared : error;
    note(group, *outcome, settings);
    if (error == MPI_SUCCESS && *outcome == COMM_GROUP_CARRIED && group->own_node != source) {
        error = mpi_behind.bcast(bytes, count, MPI_BYTE, 0, group->node);
    }
    return *outcome == COMM_GROUP_CARRIED ? error : MPI_SUCCESS;
}

// A short message in a node, from the rank `place` there, after the number of bytes that it has: as many
// as the source sent, or none. Returns an error.
static int share_short(
    const struct comm_group* group, void* bytes, size_t count, int place, size_t* sent) {
    unsigned char packed[sizeof *sent + STAGECAST_SHORT_BYTES];
    int own = 0;
    if (group->node_size == 1) {
        return MPI_SUCCESS;
    }
    (void)PMPI_Comm_rank(group->node, &own);
    if (own == place) {
        memcpy(packed, sent, sizeof *sent);
        memcpy(packed + sizeof *sent, bytes, count);
    }
    const int error =
        mpi_behind.bcast(packed, (int)(sizeof *sent + count), MPI_BYTE, place, group->node);
    if (own == place || error != MPI_SUCCESS) {
        *sent = error == MPI_SUCCESS ? *sent : 0;
        return error;
    }
    memcpy(sent, packed, sizeof *sent);
    memcpy(bytes, packed + sizeof *sent, *sent < count ? *sent : count);
    return short_length_error(*sent, count);
}

// A short one. A rank with an error sends on all the same: others wait for it.
static int carry_short(struct comm_group* group,
                       const struct comm_message* message,
                       void* bytes,
                       int root,
                       int is_ready) {
    const int source = group->node_of[root];
    size_t sent = is_ready ? message->bytes : 0;
    int error = is_ready ? MPI_SUCCESS : MPI_ERR_OTHER;
    watch_begin(message->bytes, group->size);
    if (group->own_node == source) {
        const int shared =
            share_short(group, bytes, message->bytes, group->place_of[root], &sent);
        error = error == MPI_SUCCESS ? shared : error;
    }
    if (group->leaders != MPI_COMM_NULL) {
        const size_t has = error == MPI_SUCCESS ? sent : 0;
        const size_t count = group->own_node == source ? has : message->bytes;
        const int carried =
            short_ring_carry(&group->ring, group->member, bytes, count, source, &sent);
        error = error == MPI_SUCCESS ? carried : error;
    }
    sent = error == MPI_SUCCESS ? sent : 0;
    if (group->own_node != source) {
        const int shared = share_short(group, bytes, message->bytes, 0, &sent);
        error = error == MPI_SUCCESS ? shared : error;
    }
    watch_end();
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

// The library's own communicators return errors, which are the program's communicator's.
static int end_with(int error, MPI_Comm comm) {
    if (error != MPI_SUCCESS) {
        (void)PMPI_Comm_call_errhandler(comm, error);
    }
    return error;
}

static int carry(struct comm_group* group,
                 const struct comm_message* message,
                 void* bytes,
                 int root,
                 int is_ready,
                 const struct stagecast_settings* settings,
                 int* outcome) {
    *outcome = COMM_GROUP_CARRIED;
    return message->is_short
               ? carry_short(group, message, bytes, root, is_ready)
               : carry_long(group, message, bytes, root, is_ready, settings, outcome);
}

// (A rank without memory for a copy: a long message is then the MPI's, on all ranks.)
static int carry_packed(struct comm_group* group,
                        MPI_Comm comm,
                        const struct comm_message* message,
                        int root,
                        const struct stagecast_settings* settings,
                        int* outcome) {
    unsigned char of_short[STAGECAST_SHORT_BYTES];
    int rank = 0;
    int end = 0;
    int position = 0;
    const int bytes = (int)message->bytes;
    void* const packed = message->is_short ? of_short : malloc(message->bytes);
    int is_ready = packed != NULL && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS;
    // (A short message may fill a part of the buffer: what is behind it stays.)
    if (is_ready && (rank == root || message->is_short)) {
        is_ready = PMPI_Pack(message->buffer,
                             message->count,
                             message->datatype,
                             packed,
                             bytes,
                             &end,
                             comm) == MPI_SUCCESS;
    }
    int error =
        end_with(carry(group, message, packed, root, is_ready, settings, outcome), comm);
    if (error == MPI_SUCCESS && *outcome == COMM_GROUP_CARRIED && rank != root) {
        error = PMPI_Unpack(
            packed, bytes, &position, message->buffer, message->count, message->datatype, comm);
    }
    if (!message->is_short) {
        free(packed);
    }
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

static int broadcast(struct comm_group* group,
                     MPI_Comm comm,
                     const struct comm_message* message,
                     int root,
                     const struct stagecast_settings* settings,
                     int* outcome) {
    char here = 0;
    struct comm_message moved = *message;
    if (is_plain(message->datatype)) {
        return end_with(carry(group, message, message->buffer, root, 1, settings, outcome),
                        comm);
    }
    if (message->buffer != MPI_BOTTOM) {
        return carry_packed(group, comm, message, root, settings, outcome);
    }
    int error = move_from_bottom(&moved, &here);
    if (error == MPI_SUCCESS) {
        error = carry_packed(group, comm, &moved, root, settings, outcome);
        (void)PMPI_Type_free(&moved.datatype);
    }
    return error;
}

int comm_group_broadcast(struct comm_group* group,
                         MPI_Comm comm,
                         const struct comm_message* message,
                         int root,
                         const struct stagecast_settings* settings,
                         int* outcome) {
    *outcome = COMM_GROUP_CARRIED;
    int error = check(message, comm);
    if (error == MPI_SUCCESS) {
        error = broadcast(group, comm, message, root, settings, outcome);
    }
    return error == MPI_SUCCESS && *outcome != COMM_GROUP_CARRIED
               ? mpi_behind.bcast(
                     message->buffer, message->count, message->datatype, root, comm)
               : error;
}

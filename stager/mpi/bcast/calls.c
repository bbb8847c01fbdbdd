// The calls of MPI that the library takes the place of, by both of their names (mpi_behind.h).
//
// MPI_Bcast of a long message goes by the group of its communicator, if it has one; whatever
// else there is goes to the MPI as it came. The group is made by the first such call, which all
// ranks make, and ends with the communicator.
#define _GNU_SOURCE
#include "stager/mpi/bcast/choice.h"
#include "stager/mpi/bcast/comm_group.h"
#include "stager/mpi/bcast/mpi_behind.h"
#include "stager/mpi/bcast/watch.h"

#include <limits.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
#ifdef OPEN_MPI
#define OWN_MPI "Open MPI"
#else
#define OWN_MPI "MPICH"
#endif
// The function's other name.
#define ALIAS(name) EXPORTED __attribute__((alias(#name)))

// This process's settings, set before a second thread can call. Off until MPI_Init has agreed on them: a rank
// that begins MPI in another way (shmem_init, MPI_Session_init) knows only its own environment.
static struct stagecast_settings settings = {.mode = STAGECAST_BCAST_OFF};
static int keyval = MPI_KEYVAL_INVALID;  // The attribute that leads to the comm_group.

static struct counters {
    atomic_ullong carried;  // By a group.
    atomic_ullong bytes;    // Of these.
    atomic_ullong failed;   // That the group began and the MPI ended.
    atomic_ullong by_mpi;   // Others.
} counters[2];              // Of long messages, and of short ones.

static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
    (void)comm;
    (void)key;
    (void)extra;
    comm_group_free(value);
    return MPI_SUCCESS;
}

// Waits for all ranks, by a call that no rank without the library answers. By a broadcast they would
// take the settings for the first message of the program, and each message for the next one.
static int await_all(void) {
    enum { SENTENCE_AFTER_S = 10, END_AFTER_S = 300, RANKS_THAT_SPEAK = 4 };
    const struct timespec pause = {.tv_nsec = 100000};
    MPI_Request request = MPI_REQUEST_NULL;
    int rank = 0;
    int is_over = 0;
    int is_said =
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || rank >= RANKS_THAT_SPEAK;
    int error = PMPI_Ibarrier(MPI_COMM_WORLD, &request);
    const double begin = PMPI_Wtime();
    while (error == MPI_SUCCESS && !is_over) {
        error = PMPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
        const double waited = is_over ? 0 : PMPI_Wtime() - begin;
        if (waited > SENTENCE_AFTER_S && !is_said) {
            is_said = 1;
            (void)fprintf(
                stderr,
                "stagecast: rank %d waits for others in MPI_Init; all ranks or none must load "
                "libstagecast-bcast\n",
                rank);
        }
        if (waited > END_AFTER_S) {
            (void)fprintf(
                stderr,
                "stagecast: rank %d ends the program: others are not in MPI_Init with "
                "libstagecast-bcast after %d s\n",
                rank,
                END_AFTER_S);
            (void)PMPI_Abort(MPI_COMM_WORLD, 1);
        }
        (void)nanosleep(&pause, NULL);
    }
    return error;
}

// The environment of the first rank is that of all.
static int agree_on_settings(void) {
    struct stagecast_settings agreed = stagecast_settings_of_environment();
    int error = await_all();
    if (error == MPI_SUCCESS) {
        error = mpi_behind.bcast(
            &agreed, (int)(sizeof agreed / sizeof(int64_t)), MPI_INT64_T, 0, MPI_COMM_WORLD);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL) !=
        MPI_SUCCESS) {
        keyval = MPI_KEYVAL_INVALID;
    }
    settings = agreed;
    int rank = 1;
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    watch_prepare(&settings, rank);
    if (agreed.is_unclear && rank == 0) {
        (void)fprintf(stderr,
                      "stagecast: MPI_Bcast is left to the MPI: STAGECAST_BCAST must be off, "
                      "auto or force, "
                      "STAGECAST_BCAST_MIN and STAGECAST_BCAST_SHORT numbers of bytes\n");
    }
    return MPI_SUCCESS;
}

// (Which rank this is, another MPI can't be asked.)
static void refuse(void) {
    static const char* const ranks[] = {
        "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
        const char* const rank = getenv(ranks[i]);
        if (rank != NULL && strcmp(rank, "0") != 0) {
            return;
        }
    }
    (void)fprintf(
        stderr,
        "stagecast: MPI_Bcast is left to the MPI: the program runs on another MPI than "
        "the libstagecast-bcast that is loaded, which is for " OWN_MPI
        "; load the one for the program's MPI\n");
}

static int begin(int error) {
    if (mpi_behind.is_other) {
        refuse();
        return error;
    }
    return error == MPI_SUCCESS ? agree_on_settings() : error;
}

EXPORTED int MPI_Init(int* argc, char*** argv) {
    mpi_behind_find();
    return begin(mpi_behind.init(argc, argv));
}
ALIAS(MPI_Init) int PMPI_Init(int* argc, char*** argv);

EXPORTED int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    mpi_behind_find();
    return begin(mpi_behind.init_thread(argc, argv, required, provided));
}
ALIAS(MPI_Init_thread)
int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided);

// ---- communicators

static struct comm_group* known_group(MPI_Comm comm) {
    struct comm_group* group = NULL;
    int is_there = 0;
    return keyval != MPI_KEYVAL_INVALID && comm != MPI_COMM_NULL &&
                   PMPI_Comm_get_attr(comm, keyval, &group, &is_there) == MPI_SUCCESS &&
                   is_there
               ? group
               : NULL;
}

static int add_group(MPI_Comm comm, struct comm_group** group) {
    *group = comm_group_none(comm);
    const int error =
        *group == NULL ? MPI_ERR_NO_MEM : PMPI_Comm_set_attr(comm, keyval, *group);
    if (error != MPI_SUCCESS) {
        free(*group);
        *group = NULL;
    }
    return error;
}

// Whether the group is to be made now, for this message. What it costs is more than what few short
// messages could gain.
static int is_worth(struct comm_group* group, const struct comm_message* message) {
    enum { CALLS_BEFORE = 1000 };
    return !message->is_short || settings.mode == STAGECAST_BCAST_FORCE ||
           (group->size >= STAGECAST_SHORT_NODES_MIN && ++group->short_calls > CALLS_BEFORE);
}

// The group of `comm`, made if it is worth it; NULL for an intercommunicator, and for an error.
static int group_of(MPI_Comm comm,
                    const struct comm_message* message,
                    struct comm_group** group) {
    int is_inter = 0;
    *group = known_group(comm);
    if (keyval == MPI_KEYVAL_INVALID) {
        return MPI_SUCCESS;
    }
    if (*group == NULL) {
        int error = PMPI_Comm_test_inter(comm, &is_inter);
        if (error == MPI_SUCCESS && !is_inter) {
            error = add_group(comm, group);
        }
        if (error != MPI_SUCCESS || is_inter) {
            return error;
        }
    }
    return !(*group)->is_made && is_worth(*group, message)
               ? comm_group_make(*group, comm, message, &settings)
               : MPI_SUCCESS;
}

static void release(MPI_Comm comm) {
    struct comm_group* const group = known_group(comm);
    if (group != NULL) {
        comm_group_release(group);
    }
}

EXPORTED int MPI_Comm_free(MPI_Comm* comm) {
    if (comm != NULL && keyval != MPI_KEYVAL_INVALID) {
        release(*comm);
    }
    return mpi_behind.comm_free(comm);
}
ALIAS(MPI_Comm_free) int PMPI_Comm_free(MPI_Comm* comm);

EXPORTED int MPI_Comm_disconnect(MPI_Comm* comm) {
    if (comm != NULL && keyval != MPI_KEYVAL_INVALID) {
        release(*comm);
    }
    return mpi_behind.comm_disconnect(comm);
}
ALIAS(MPI_Comm_disconnect) int PMPI_Comm_disconnect(MPI_Comm* comm);

#ifdef OPEN_MPI
// Making a group makes communicators, and Open MPI mixes these up with one that is being duplicated,
// of whatever communicator, on different ranks in different order: it waits for ever. Ranks need not
// duplicate between the same calls of MPI_Bcast, so that nothing less is the same on all of them.
EXPORTED int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
    comm_group_forbid();
    return mpi_behind.comm_idup(comm, made, request);
}
ALIAS(MPI_Comm_idup) int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request);

#if OMPI_MAJOR_VERSION >= 5  // (Whose MPI_VERSION is 3 all the same.)
EXPORTED int MPI_Comm_idup_with_info(MPI_Comm comm,
                                     MPI_Info info,
                                     MPI_Comm* made,
                                     MPI_Request* request) {
    comm_group_forbid();
    return mpi_behind.comm_idup_with_info(comm, info, made, request);
}
ALIAS(MPI_Comm_idup_with_info)
int PMPI_Comm_idup_with_info(MPI_Comm comm,
                             MPI_Info info,
                             MPI_Comm* made,
                             MPI_Request* request);
#endif
#endif

// ---- MPI_Bcast

// The bytes of a message; 0 if there are none, or more than an int counts. The same on all ranks: the
// type signature is, whatever count and datatype are.
static size_t bytes_of(int count, MPI_Datatype datatype, MPI_Comm comm) {
    MPI_Count size = 0;
    if (count <= 0 || datatype == MPI_DATATYPE_NULL || comm == MPI_COMM_NULL ||
        PMPI_Type_size_x(datatype, &size) != MPI_SUCCESS || size <= 0 ||
        size > INT_MAX / (MPI_Count)count) {
        return 0;
    }
    return (size_t)(size * (MPI_Count)count);
}

// Whether a message may go by a group.
static int is_of_length(size_t bytes) {
    return bytes > 0 &&
           (bytes >= (size_t)settings.least_bytes || bytes <= (size_t)settings.short_bytes);
}

static int by_mpi(const struct comm_message* message, int root, MPI_Comm comm) {
    atomic_fetch_add(&counters[message->is_short].by_mpi, 1);
    return mpi_behind.bcast(message->buffer, message->count, message->datatype, root, comm);
}

static int by_group(struct comm_group* group,
                    const struct comm_message* message,
                    int root,
                    MPI_Comm comm,
                    int* outcome) {
    const int error = comm_group_broadcast(group, comm, message, root, &settings, outcome);
    struct counters* const count = &counters[message->is_short];
    atomic_fetch_add(*outcome == COMM_GROUP_CARRIED  ? &count->carried
                     : *outcome == COMM_GROUP_FAILED ? &count->failed
                                                     : &count->by_mpi,
                     1);
    atomic_fetch_add(&count->bytes, *outcome == COMM_GROUP_CARRIED ? message->bytes : 0);
    return error;
}

static int decide(struct stagecast_trial* trial,
                  const struct comm_group* group,
                  const struct comm_message* message,
                  MPI_Comm comm) {
    double longest[STAGECAST_WAYS];
    int rank = 0;
    const int error =
        PMPI_Allreduce(trial->seconds, longest, STAGECAST_WAYS, MPI_DOUBLE, MPI_MAX, comm);
    stagecast_decide(trial, longest);
    if (settings.is_verbose && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == 0) {
        fprintf(stderr,
                "stagecast: %d ranks on %d nodes, about %zu bytes: by %s (group %.6f s, MPI "
                "%.6f s)\n",
                group->size,
                group->node_count,
                message->bytes,
                trial->way == STAGECAST_BY_GROUP ? "the group" : "MPI",
                longest[STAGECAST_BY_GROUP],
                longest[STAGECAST_BY_MPI]);
    }
    return error;
}

// One way or the other, measured from the moment at which all ranks are there. (How a message went is
// the same on all of them.)
static int try_out(struct comm_group* group,
                   struct stagecast_trial* trial,
                   const struct comm_message* message,
                   int root,
                   MPI_Comm comm) {
    int outcome = COMM_GROUP_CARRIED;
    watch_begin(message->bytes, group->size);
    int error = PMPI_Barrier(comm);
    watch_end();
    const double begun = PMPI_Wtime();
    if (error == MPI_SUCCESS) {
        error = stagecast_next_way(trial) == STAGECAST_BY_GROUP
                    ? by_group(group, message, root, comm, &outcome)
                    : by_mpi(message, root, comm);
    }
    if (outcome != COMM_GROUP_CARRIED) {
        stagecast_restart(trial);
        return error;
    }
    const int calls = message->is_short ? STAGECAST_SHORT_TRIAL_CALLS : STAGECAST_TRIAL_CALLS;
    return error == MPI_SUCCESS && stagecast_tell(trial, PMPI_Wtime() - begun, calls)
               ? decide(trial, group, message, comm)
               : error;
}

static struct stagecast_trial* trial_of(struct comm_group* group, size_t bytes, int is_short) {
    return is_short ? &group->short_trials[stagecast_short_class_of(bytes)]
                    : &group->trials[stagecast_class_of(bytes, (uint64_t)settings.least_bytes)];
}

// What the MPI carries whatever its communicator has. Ranks that name fewer bytes may take the ring of
// short messages: they need not wait for this one, which may wait for them.
static int pass_on(const struct comm_message* message, int root, MPI_Comm comm) {
    const struct comm_group* const group =
        message->bytes > 0 && settings.short_bytes > 0 ? known_group(comm) : NULL;
    const int is_watched = group != NULL && group->is_short;
    if (is_watched) {
        watch_begin(message->bytes, group->size);
    }
    const int error =
        mpi_behind.bcast(message->buffer, message->count, message->datatype, root, comm);
    if (is_watched) {
        watch_end();
    }
    return error;
}

static int broadcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    struct comm_group* group = NULL;
    int outcome = COMM_GROUP_CARRIED;
    const size_t bytes =
        settings.mode == STAGECAST_BCAST_OFF ? 0 : bytes_of(count, datatype, comm);
    const int is_short = bytes > 0 && bytes < (size_t)settings.least_bytes;
    const struct comm_message message = {buffer, count, datatype, bytes, is_short};
    const int error = is_of_length(bytes) ? group_of(comm, &message, &group) : MPI_SUCCESS;
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (group == NULL) {
        return pass_on(&message, root, comm);
    }
    if (!group->is_used || (is_short && !group->is_short) || root < 0 || root >= group->size) {
        return by_mpi(&message, root, comm);
    }
    struct stagecast_trial* const trial = trial_of(group, bytes, is_short);
    if (settings.mode != STAGECAST_BCAST_FORCE && !trial->is_decided) {
        return try_out(group, trial, &message, root, comm);
    }
    return settings.mode == STAGECAST_BCAST_FORCE || trial->way == STAGECAST_BY_GROUP
               ? by_group(group, &message, root, comm, &outcome)
               : by_mpi(&message, root, comm);
}

// By both names, with handles as wide as any MPI's are: to another MPI they go on as they came. (MPICH's
// are narrower than Open MPI's.)
#define NAMED(name) __asm__(#name)
EXPORTED int any_bcast(void* buffer, int count, uintptr_t datatype, int root, uintptr_t comm)
    NAMED(MPI_Bcast);
int any_bcast(void* buffer, int count, uintptr_t datatype, int root, uintptr_t comm) {
    return mpi_behind.is_other
               ? mpi_behind.any_bcast(buffer, count, datatype, root, comm)
               : broadcast(buffer, count, (MPI_Datatype)datatype, root, (MPI_Comm)comm);
}
ALIAS(MPI_Bcast)
int any_pbcast(void* buffer, int count, uintptr_t datatype, int root, uintptr_t comm)
    NAMED(PMPI_Bcast);

#if MPI_VERSION >= 4
// Another binding of the same call: some ranks may use one and some the other. (A count that is no int
// is of no bytes, or of 2 GiB and more: then the MPI has it on all ranks.)
EXPORTED int any_bcast_c(void* buffer,
                         MPI_Count count,
                         uintptr_t datatype,
                         int root,
                         uintptr_t comm) NAMED(MPI_Bcast_c);
int any_bcast_c(void* buffer, MPI_Count count, uintptr_t datatype, int root, uintptr_t comm) {
    return !mpi_behind.is_other && count >= 0 && count <= INT_MAX
               ? any_bcast(buffer, (int)count, datatype, root, comm)
               : mpi_behind.any_bcast_c(buffer, count, datatype, root, comm);
}
ALIAS(MPI_Bcast_c)
int any_pbcast_c(void* buffer, MPI_Count count, uintptr_t datatype, int root, uintptr_t comm)
    NAMED(PMPI_Bcast_c);
#endif

// ---- the end

static void print_summary(void) {
    static const char* const modes[] = {"off", "auto", "force"};
    int rank = 0;
    if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && rank == 0) {
        fprintf(stderr,
                "stagecast: MPI_Bcast of %lld bytes or more (STAGECAST_BCAST=%s), as rank 0 "
                "made them: %llu by groups (%llu bytes), %llu by MPI, %llu begun by a group "
                "and repeated by MPI\n",
                (long long)settings.least_bytes,
                modes[settings.mode],
                atomic_load(&counters[0].carried),
                atomic_load(&counters[0].bytes),
                atomic_load(&counters[0].by_mpi),
                atomic_load(&counters[0].failed));
    }
}

static void print_short_summary(void) {
    const struct short_counts own = short_ring_counts();
    struct short_counts all = {0};
    int rank = 0;
    enum { COUNTS = sizeof own / sizeof(unsigned long long) };
    if (PMPI_Reduce(&own, &all, COUNTS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD) ==
            MPI_SUCCESS &&
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && rank == 0) {
        fprintf(
            stderr,
            "stagecast: MPI_Bcast of %lld bytes or less, as rank 0 made them: %llu by groups "
            "(%llu bytes), %llu by MPI; of all nodes: %llu sent in %llu packets, %llu received "
            "by multicast, %llu from another node\n",
            (long long)settings.short_bytes,
            atomic_load(&counters[1].carried),
            atomic_load(&counters[1].bytes),
            atomic_load(&counters[1].by_mpi),
            all.sent,
            all.packets,
            all.by_multicast,
            all.by_ring);
    }
}

EXPORTED int MPI_Finalize(void) {
    if (settings.is_verbose) {
        print_summary();
        if (settings.short_bytes > 0) {
            print_short_summary();
        }
    }
    // What callbacks of MPI_COMM_SELF broadcast in PMPI_Finalize is the MPI's, on all ranks.
    settings.mode = STAGECAST_BCAST_OFF;
    watch_close();
    short_rings_close();
    if (known_group(MPI_COMM_WORLD) != NULL) {
        release(MPI_COMM_WORLD);
        (void)PMPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    }
    return mpi_behind.finalize();
}
ALIAS(MPI_Finalize) int PMPI_Finalize(void);

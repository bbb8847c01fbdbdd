// Random sequences of collectives on communicators that come and go. Every byte is compared with what was sent.
//
//     sequences FIRST COUNT     the seeds FIRST .. FIRST + COUNT - 1
//
// A sequence follows from its seed, which is printed with what was wrong. Of one that does not end each rank prints where it is.
#include "tests/mpi/checks.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COMMS = 4, STEPS = 16, LONGEST = 100000, SECONDS_MAX = 120 };

static uint64_t shared;             // All ranks draw alike from it.
static volatile sig_atomic_t seed;  // Read by give_up().
static volatile sig_atomic_t step;

static int below(int limit) {
    return (int)(next(&shared) % (uint64_t)limit);
}

// ---- messages

enum { BYTES, INTS, DOUBLES, SHORTS, PAIRS, TYPES };

// PAIRS: two ints, and the room of one between them.
static int is_gap(int type, int i) {
    return type == PAIRS && i % 12 >= 4 && i % 12 < 8;
}
static int extent_of(int type) {
    static const int extents[TYPES] = {1, 4, 8, 6, 12};
    return extents[type];
}
static int size_of(int type) {
    return type == PAIRS ? 8 : extent_of(type);
}

static MPI_Datatype make_type(int type) {
    static const MPI_Datatype plain[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    if (type == SHORTS) {
        MPI_Type_contiguous(3, MPI_SHORT, &made);
    } else if (type == PAIRS) {
        MPI_Type_vector(2, 1, 2, MPI_INT, &made);
    } else {
        return plain[type];
    }
    MPI_Type_commit(&made);
    return made;
}

static unsigned char byte_at(uint64_t mark, int i) {
    return (unsigned char)((mark + (uint64_t)i) * 0x9e3779b97f4a7c15u >> 56);
}

static int draw_bytes(void) {
    switch (below(8)) {
        case 0:
            return below(LONGEST + 1);
        case 1:
            return 0;
        case 2:
            return below(20000);
        case 3:
            return 8192 - 8 + below(16);
        case 4:
            return 1024 - 8 + below(16);
        default:
            return below(2000);
    }
}

static void broadcast(MPI_Comm comm) {
    const int type = below(TYPES);
    const int count = draw_bytes() / size_of(type);
    const int room = count * extent_of(type);
    const uint64_t mark = next(&shared);
    const uint64_t root_draw = next(&shared);
    if (comm == MPI_COMM_NULL) {
        return;
    }
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int root = (int)(root_draw % (uint64_t)size);
    unsigned char* const bytes = malloc((size_t)room + 1);
    for (int i = 0; i < room; ++i) {
        bytes[i] = (unsigned char)(rank == root ? byte_at(mark, i) : ~byte_at(mark, i));
    }
    MPI_Datatype made = make_type(type);
    MPI_Bcast(bytes, count, made, root, comm);
    for (int i = 0; i < room; ++i) {
        const int is_sent = rank == root || !is_gap(type, i);
        if (bytes[i] != (unsigned char)(is_sent ? byte_at(mark, i) : ~byte_at(mark, i))) {
            complain("a wrong byte", seed, i);
            break;
        }
    }
    if (type >= SHORTS) {
        MPI_Type_free(&made);
    }
    free(bytes);
}

// ---- the other steps

static void sum_up(MPI_Comm comm, int to_all) {
    const uint64_t draw = next(&shared);
    int size = 0;
    int rank = 0;
    int sum = -1;
    if (comm == MPI_COMM_NULL) {
        return;
    }
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    const int root = (int)(draw % (uint64_t)size);
    const int own = rank + (int)(draw % 1000);
    if (to_all) {
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
    } else {
        MPI_Reduce(&own, &sum, 1, MPI_INT, MPI_SUM, root, comm);
    }
    if ((to_all || rank == root) && sum != size * (size - 1) / 2 + size * (int)(draw % 1000)) {
        complain("a wrong sum", seed, sum);
    }
}

// A non-blocking broadcast, which is the MPI's own, begins before another one and ends after it.
static void broadcast_within(MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    const uint64_t draw = next(&shared);
    int value = -1;
    if (comm != MPI_COMM_NULL) {
        int size = 0;
        int rank = 0;
        MPI_Comm_size(comm, &size);
        MPI_Comm_rank(comm, &rank);
        const int root = (int)(draw % (uint64_t)size);
        value = rank == root ? (int)(draw % 1000) : -1;
        MPI_Ibcast(&value, 1, MPI_INT, root, comm, &request);
    }
    broadcast(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (comm != MPI_COMM_NULL && value != (int)(draw % 1000)) {
        complain("a wrong number", seed, value);
    }
}

#ifdef OPEN_MPI
static int is_duplicating;
#endif

// Messages of the parent go on while the duplicate is made. (Not with Open MPI 5.0.7, which then waits for ever now and
// then, without the library, too.)
static MPI_Comm duplicate(MPI_Comm parent) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_idup(parent, &made, &request);
    }
#if defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
    broadcast(parent);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return made;
}

// Of a part of `parent`'s ranks, or of all; in another order, or not.
static MPI_Comm make_comm(MPI_Comm parent) {
#ifdef OPEN_MPI
    // (There no communicator gets a group any more once one has been duplicated so: in every fifth program only.)
    const int kind = below(is_duplicating ? 5 : 4);
#else
    const int kind = below(5);
#endif
    const int order = below(2) == 0 ? 1 : -1;
    const int left_out = below(2);
    MPI_Comm made = MPI_COMM_NULL;
    int rank = 0;
    if (kind == 4) {
        return duplicate(parent);
    }
    if (parent == MPI_COMM_NULL) {
        return MPI_COMM_NULL;
    }
    MPI_Comm_rank(parent, &rank);
    if (kind == 0) {
        MPI_Comm_dup(parent, &made);
    } else if (kind == 1) {
        MPI_Comm_split(parent, rank % 2, order * rank, &made);
    } else if (kind == 2) {
        MPI_Comm_split(parent, rank == left_out ? MPI_UNDEFINED : 0, order * rank, &made);
    } else {
        MPI_Comm_split(parent, 0, order * rank, &made);
    }
    return made;
}

static void end(MPI_Comm* comm) {
    if (*comm != MPI_COMM_NULL) {
        MPI_Comm_free(comm);
    }
}

static void sequence(void) {
    MPI_Comm comms[COMMS] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
    for (step = 0; step < STEPS; ++step) {
        const int which = below(COMMS);
        const int other = 1 + below(COMMS - 1);
        switch (below(11)) {
            case 0: {
                MPI_Comm made = make_comm(comms[which]);
                end(&comms[other]);
                comms[other] = made;
                break;
            }
            case 1:
                sum_up(comms[which], below(2));
                break;
            case 2:
                if (comms[which] != MPI_COMM_NULL) {
                    MPI_Barrier(comms[which]);
                }
                break;
            case 3:
                broadcast_within(comms[which]);
                break;
            default:
                broadcast(comms[which]);
        }
    }
    for (int i = 1; i < COMMS; ++i) {
        end(&comms[i]);
    }
}

// The other ranks have time to say it, too, before the MPI ends them.
static void give_up(int signal) {
    char text[80];
    (void)signal;
    const int length = snprintf(text,
                                sizeof text,
                                "rank %d: seed %d does not end in step %d\n",
                                world_rank,
                                (int)seed,
                                (int)step);
    const ssize_t written = write(STDOUT_FILENO, text, (size_t)length);
    sleep(3);
    _exit(written == length ? 3 : 4);
}

int main(int argc, char** argv) {
    enum { SAID_EVERY = 100, AT_ONCE = 250 };  // (As sequences.bats has it.)
    MPI_Init(&argc, &argv);
    signal(SIGALRM, give_up);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    const int first = argc > 2 ? atoi(argv[1]) : 0;
    const int count = argc > 2 ? atoi(argv[2]) : 0;
#ifdef OPEN_MPI
    is_duplicating = first / AT_ONCE % 5 == 3;
#endif
    // (So that MPI_COMM_WORLD has a group, whatever comes first.)
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (seed = first; seed < first + count; ++seed) {
        shared = (uint64_t)seed;
        if (world_rank == 0 && (seed - first) % SAID_EVERY == 0) {
            printf("seed %d\n", (int)seed);
            fflush(stdout);
        }
        alarm(SECONDS_MAX);
        sequence();
    }
    alarm(0);
    return finish();
}

// Broadcasts by MPI_Bcast, and compares what every rank got with what was sent.
//
//     bcasts random SEED COUNT     collectives of all kinds, on communicators of all kinds
//     bcasts threads COUNT         three threads at once, each with a communicator of its own
//     bcasts early COUNT           messages that end only while their sender is in MPI_Bcast
//     bcasts large BYTES COUNT     one root, whole messages; prints "begun" once bytes travel
//     bcasts duplicating BYTES     while rank 0 duplicates another communicator before, and the others after it
//     bcasts scarce BYTES          a message with gaps, for whose copy rank 2 has no memory
//     bcasts secret BYTES          a short message and a long one, of the same words again and again
//     bcasts differ ROOT OTHERS    rank 0 names ROOT bytes, the others OTHERS: an error at each rank that has
//                                  not got what was sent, as far as the MPI ends
//     bcasts odd BYTES MORE        the same, where the last rank alone names other bytes, by MORE
//     bcasts dups BYTES COUNT      COUNT duplicates of MPI_COMM_WORLD, one after the other, with three broadcasts each
//     bcasts elsewhere BYTES COUNT the same as large, where MPI begins without the library and ranks have different
//                                  environments
//
// A random sequence is the same for the same seed.
#define _GNU_SOURCE
#include "tests/mpi/checks.h"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { COMMS = 6, LONGEST = 700000 };

static int below(uint64_t* state, int limit) {
    return (int)(next(state) % (uint64_t)limit);
}

// ---- layouts of `count` ints in memory, all of the same type signature

// Where the i-th int of the message is; the gaps between them belong to no int.
enum { PLAIN, VECTOR, STRUCT, REVERSED, LAYOUTS };

static int place_of(int layout, int i) {
    switch (layout) {
        case VECTOR:
            return i / 2 * 3 + i % 2;  // Two of three.
        case STRUCT:
            return i == 0 ? 0 : i + 4;
        case REVERSED:
            return i % 2 == 0 ? i + 1 : i - 1;  // Pairs, the second first.
        default:
            return i;
    }
}
static int room_of(int layout, int count) {
    return layout == VECTOR ? count / 2 * 3 : count + 4;
}

static MPI_Datatype type_of(int layout, int count, int* of_type) {
    MPI_Datatype type = MPI_INT;
    *of_type = 1;
    if (layout == VECTOR) {
        MPI_Type_vector(count / 2, 2, 3, MPI_INT, &type);
    } else if (layout == STRUCT) {
        int lengths[2] = {1, count - 1};
        MPI_Aint places[2] = {0, 5 * sizeof(int)};
        MPI_Datatype types[2] = {MPI_INT, MPI_INT};
        MPI_Type_create_struct(2, lengths, places, types, &type);
    } else if (layout == REVERSED) {
        int lengths[2] = {1, 1};
        int places[2] = {1, 0};
        MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
        *of_type = count / 2;
    } else {
        *of_type = count;
        return type;
    }
    MPI_Type_commit(&type);
    return type;
}

// `count` is even. The layout may differ from rank to rank.
static void broadcast(
    MPI_Comm comm, int root, int count, int layout, uint64_t mark, int call, int at_once) {
    const int room = room_of(layout, count);
    int* const buffer = malloc((size_t)room * sizeof(int));
    int of_type = 0;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    memset(buffer, 0x5a, (size_t)room * sizeof(int));
    for (int i = 0; rank == root && i < count; ++i) {
        buffer[place_of(layout, i)] = value_at(mark, i);
    }
    MPI_Datatype type = type_of(layout, count, &of_type);
    if (at_once) {
#if MPI_VERSION >= 4
        // (The two are one call: ranks may differ.)
        if ((call + world_rank) % 2 == 0) {
            MPI_Bcast_c(buffer, of_type, type, root, comm);
        } else
#endif
            MPI_Bcast(buffer, of_type, type, root, comm);
    } else {
        MPI_Request request;
        MPI_Ibcast(buffer, of_type, type, root, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < count; ++i) {
        int* const place = &buffer[place_of(layout, i)];
        if (*place != value_at(mark, i)) {
            complain("a wrong value", call, i);
        }
        *place = 0x5a5a5a5a;
    }
    for (int i = 0; i < room; ++i) {
        if (buffer[i] != 0x5a5a5a5a) {
            complain("a gap was written", call, i);
        }
    }
    if (layout != PLAIN) {
        MPI_Type_free(&type);
    }
    free(buffer);
}

// ---- random sequences

static int draw_count(uint64_t* shared) {
    const int kind = below(shared, 8);
    const int longest = kind == 0 ? LONGEST : kind < 4 ? 40000 : 4000;
    // (16384 ints are the least length of the tests.)
    return kind == 7 ? 16384 + 2 * (below(shared, 5) - 2)
                     : 2 * (1 + below(shared, longest / 2));
}

static MPI_Comm make_comm(uint64_t* shared) {
    MPI_Comm made = MPI_COMM_NULL;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int kind = below(shared, 4);
    const int parts = 1 + below(shared, 2);
    if (kind == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    } else if (kind == 1) {
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % parts, -world_rank, &made);
    } else if (kind == 2) {
        MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 1, 0, &made);
    } else {
        MPI_Comm_split(MPI_COMM_WORLD, world_rank * parts / size, world_rank, &made);
    }
    return made;
}

static void other_collective(MPI_Comm comm, uint64_t* shared) {
    int size = 0;
    int rank = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    if (below(shared, 2) == 0) {
        int sum = 0;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != size * (size - 1) / 2) {
            complain("a wrong sum", -1, sum);
        }
    } else {
        MPI_Barrier(comm);
    }
}

static void random_sequence(uint64_t seed, int count) {
    uint64_t shared = seed;
    uint64_t own = seed ^ ((uint64_t)world_rank + 1) * 0x1234567u;
    MPI_Comm comms[COMMS] = {MPI_COMM_WORLD};
    for (int i = 1; i < COMMS; ++i) {
        comms[i] = make_comm(&shared);
    }
    for (int call = 0; call < count; ++call) {
        const int which = below(&shared, COMMS);
        const int what = below(&shared, 10);
        const uint64_t draw = next(&shared);
        const int ints = draw_count(&shared);
        if (what == 0 && which > 0) {
            if (comms[which] != MPI_COMM_NULL) {
                MPI_Comm_free(&comms[which]);
            }
            comms[which] = make_comm(&shared);
        } else if (what == 1) {
            if (comms[which] != MPI_COMM_NULL) {
                uint64_t copy = draw;
                other_collective(comms[which], &copy);
            }
        } else if (comms[which] != MPI_COMM_NULL) {
            int size = 0;
            MPI_Comm_size(comms[which], &size);
            broadcast(comms[which],
                      (int)(draw % (uint64_t)size),
                      ints,
                      below(&own, LAYOUTS),
                      draw,
                      call,
                      what != 2);
        }
    }
    for (int i = 1; i < COMMS; ++i) {
        if (comms[i] != MPI_COMM_NULL) {
            MPI_Comm_free(&comms[i]);
        }
    }
}

// ---- threads

struct work {
    MPI_Comm comm;
    int count;
    int number;
};

static void* in_thread(void* data) {
    const struct work* work = data;
    uint64_t state = (uint64_t)work->number;
    int size = 0;
    MPI_Comm_size(work->comm, &size);
    for (int call = 0; call < work->count; ++call) {
        const int root = below(&state, size);
        broadcast(work->comm, root, draw_count(&state), call % LAYOUTS, next(&state), call, 1);
    }
    return NULL;
}

static void threads(int count) {
    enum { THREADS = 3 };
    struct work works[THREADS];
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        works[i] = (struct work){MPI_COMM_NULL, count, i};
        MPI_Comm_dup(MPI_COMM_WORLD, &works[i].comm);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_create(&ids[i], NULL, in_thread, &works[i]);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(ids[i], NULL);
        MPI_Comm_free(&works[i].comm);
    }
}

// ---- the others

// Its receiver enters MPI_Bcast after it, its sender before: it ends by MPI's progress there.
static void early(int count) {
    enum { LENGTH = 1 << 20 };
    char* const bytes = malloc(2 * LENGTH);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int call = 0; call < count; ++call) {
        const int to = (world_rank + 1) % size;
        const int from = (world_rank + size - 1) % size;
        MPI_Request request = MPI_REQUEST_NULL;
        memset(bytes, world_rank, LENGTH);
        if (world_rank % 2 == 0) {
            MPI_Isend(bytes, LENGTH, MPI_BYTE, to, call, MPI_COMM_WORLD, &request);
        } else {
            MPI_Recv(bytes + LENGTH,
                     LENGTH,
                     MPI_BYTE,
                     from,
                     call,
                     MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            if (bytes[LENGTH] != from || bytes[2 * LENGTH - 1] != from) {
                complain("a wrong message", call, 0);
            }
        }
        broadcast(MPI_COMM_WORLD, call % size, 200000, PLAIN, (uint64_t)call, call, 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(bytes);
}

static void large(int bytes, int count) {
    for (int call = 0; call < count; ++call) {
        broadcast(MPI_COMM_WORLD, 0, bytes / 8 * 2, PLAIN, (uint64_t)call, call, 1);
        if (world_rank == 0) {
            printf("begun\n");
            fflush(stdout);
        }
    }
}

// As shmem_init of Open MPI does: the MPI's own function, whatever was loaded before it.
static void begin_elsewhere(int* argc, char*** argv) {
#ifdef OPEN_MPI
    void* const mpi = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
#else
    void* const mpi = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
#endif
    int (*begin)(int*, char***) = NULL;
    void* const found = mpi != NULL ? dlsym(mpi, "PMPI_Init") : NULL;
    if (found == NULL) {
        complain("no MPI to begin", 0, 0);
        exit(1);
    }
    memcpy(&begin, &found, sizeof begin);
    begin(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    setenv("STAGECAST_BCAST", world_rank < 2 ? "off" : "force", 1);
}

static void dups(int bytes, int count) {
    for (int i = 0; i < count; ++i) {
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        for (int call = 0; call < 3; ++call) {
            broadcast(made, call, bytes / 8 * 2, PLAIN, (uint64_t)call, call, 1);
        }
        MPI_Comm_free(&made);
    }
}

// What the ranks name differs: no rank may take something else for the message without an error.
static void differ(int sent, int named) {
    static char bytes[1 << 20];
    memset(bytes, world_rank == 0 ? 7 : 0, sizeof bytes);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int error = MPI_Bcast(bytes, named, MPI_BYTE, 0, MPI_COMM_WORLD);
    const int least = sent < named ? sent : named;
    if (error == MPI_SUCCESS && (bytes[0] != 7 || bytes[least - 1] != 7)) {
        complain("neither message nor error", 0, named);
    }
    printf("rank %d: %s\n", world_rank, error == MPI_SUCCESS ? "no error" : "an error");
}

// One communicator is duplicated while another one carries its first long message.
static void duplicating(int bytes) {
    MPI_Comm duplicated = MPI_COMM_NULL;
    MPI_Comm used = MPI_COMM_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicated);
    MPI_Comm_dup(MPI_COMM_WORLD, &used);
    if (world_rank == 0) {
        MPI_Comm_idup(duplicated, &made, &request);
    }
    broadcast(used, 0, bytes / 8 * 2, PLAIN, 1, 0, 1);
    if (world_rank != 0) {
        MPI_Comm_idup(duplicated, &made, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    broadcast(made, 1, bytes / 8 * 2, PLAIN, 2, 1, 1);
}

// The process may have this number of bytes more.
static void limit_memory(rlim_t more) {
    unsigned long pages = 0;
    FILE* const file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) {
        complain("no size of memory", 0, 0);
    }
    if (file != NULL) {
        fclose(file);
    }
    const struct rlimit limit = {pages * (rlim_t)sysconf(_SC_PAGESIZE) + more, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        complain("no limit of memory", 0, 0);
    }
}

static void scarce(int bytes) {
    const int count = bytes / (int)sizeof(int);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int* const message = calloc((size_t)count * 2, sizeof(int));
    MPI_Type_vector(count, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; world_rank == 0 && i < count; ++i) {
        message[2 * i] = value_at(3, i);
    }
    if (world_rank == 2) {
        limit_memory(20 << 20);
    }
    MPI_Bcast(message, 1, type, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
        if (message[2 * i] != value_at(3, i) || message[2 * i + 1] != 0) {
            complain("wrong", 0, i);
        }
    }
    MPI_Type_free(&type);
    free(message);
}

static void secret(int bytes) {
    static const char words[] = "a word that no one else may see ";
    const int lengths[2] = {700, bytes};
    for (int call = 0; call < 2; ++call) {
        char* const message = calloc((size_t)lengths[call], 1);
        for (int i = 0; world_rank == 0 && i < lengths[call]; ++i) {
            message[i] = words[(size_t)i % (sizeof words - 1)];
        }
        MPI_Bcast(message, lengths[call], MPI_CHAR, 0, MPI_COMM_WORLD);
        for (int i = 0; i < lengths[call]; ++i) {
            if (message[i] != words[(size_t)i % (sizeof words - 1)]) {
                complain("wrong", call, i);
            }
        }
        free(message);
    }
}

int main(int argc, char** argv) {
    int provided = 0;
    int has_begun = 0;
    const char* const what = argc > 2 ? argv[1] : "";
    const int is_threaded = strcmp(what, "threads") == 0;
    MPI_Initialized(&has_begun);  // (By a library, it may have.)
    if (strcmp(what, "elsewhere") == 0) {
        begin_elsewhere(&argc, &argv);
    } else if (is_threaded) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    } else if (!has_begun) {
        MPI_Init(&argc, &argv);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (is_threaded && provided < MPI_THREAD_MULTIPLE) {
        complain("no threads", 0, provided);
    } else if (is_threaded) {
        threads(atoi(argv[2]));
    } else if (strcmp(what, "random") == 0 && argc > 3) {
        random_sequence(strtoull(argv[2], NULL, 10), atoi(argv[3]));
    } else if (strcmp(what, "early") == 0) {
        early(atoi(argv[2]));
    } else if (strcmp(what, "duplicating") == 0) {
        duplicating(atoi(argv[2]));
    } else if (strcmp(what, "dups") == 0 && argc > 3) {
        dups(atoi(argv[2]), atoi(argv[3]));
    } else if (strcmp(what, "differ") == 0 && argc > 3) {
        differ(atoi(argv[2]), atoi(argv[world_rank == 0 ? 2 : 3]));
    } else if (strcmp(what, "odd") == 0 && argc > 3) {
        int size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        differ(atoi(argv[2]), atoi(argv[2]) + (world_rank + 1 == size ? atoi(argv[3]) : 0));
    } else if (strcmp(what, "scarce") == 0) {
        scarce(atoi(argv[2]));
    } else if (strcmp(what, "secret") == 0) {
        secret(atoi(argv[2]));
    } else if ((strcmp(what, "large") == 0 || strcmp(what, "elsewhere") == 0) && argc > 3) {
        large(atoi(argv[2]), atoi(argv[3]));
    } else {
        complain("nothing to do", 0, argc);
    }
    return finish();
}

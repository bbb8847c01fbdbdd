// Broadcasts short messages at different paces, and compares every byte with what was sent.
//
//     shorts ahead COUNT     rank 0 broadcasts without a barrier, while the last rank sleeps now and then
//     shorts late COUNT      one rank after the other comes to COUNT calls when the others have long begun
//     shorts roots COUNT     the root changes from call to call, in turn and at random
//     shorts free COUNT      communicators end while a rank has not made the last calls yet; so does MPI
#define _GNU_SOURCE
#include "tests/mpi/checks.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 8192 };

static int calls;
static int size;

static unsigned char byte_at(uint64_t mark, int i) {
    return (unsigned char)((mark + (uint64_t)i) * 0x9e3779b97f4a7c15u >> 56);
}

static void broadcast(MPI_Comm comm, int root, int length, uint64_t mark) {
    static unsigned char bytes[LONGEST + 1];
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i <= length; ++i) {
        bytes[i] =
            (unsigned char)(rank == root && i < length ? byte_at(mark, i) : ~byte_at(mark, i));
    }
    MPI_Bcast(bytes, length, MPI_BYTE, root, comm);
    ++calls;
    for (int i = 0; i < length; ++i) {
        if (bytes[i] != byte_at(mark, i)) {
            complain("a wrong byte", calls, i);
        }
    }
    if (bytes[length] != (unsigned char)~byte_at(mark, length)) {
        complain("a byte after the message was written", calls, length);
    }
}

// Many of one packet, some of several.
static int draw_length(uint64_t* shared) {
    const int is_longer = next(shared) % 4 == 0;
    return 1 + (int)(next(shared) % (is_longer ? LONGEST : 64));
}

static void ahead(int count) {
    uint64_t shared = 1;
    uint64_t own = 2;
    for (int call = 0; call < count; ++call) {
        if (world_rank == size - 1 && next(&own) % 2000 == 0) {
            usleep((useconds_t)(next(&own) % 200000));
        }
        broadcast(MPI_COMM_WORLD, 0, draw_length(&shared), next(&shared));
    }
}

static void late(int count) {
    uint64_t shared = 3;
    for (int rank = 0; rank < size; ++rank) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == rank) {
            usleep(300000);
        }
        for (int call = 0; call < count; ++call) {
            broadcast(MPI_COMM_WORLD, (rank + 1) % size, draw_length(&shared), next(&shared));
        }
    }
}

static void roots(int count) {
    uint64_t shared = 4;
    for (int call = 0; call < count; ++call) {
        broadcast(MPI_COMM_WORLD, call % size, draw_length(&shared), next(&shared));
        broadcast(MPI_COMM_WORLD,
                  (int)(next(&shared) % (uint64_t)size),
                  draw_length(&shared),
                  next(&shared));
    }
}

// The last one is not freed, and its last calls are under way when MPI_Finalize is called.
static void free_them(int count) {
    uint64_t shared = 5;
    for (int i = 0; i < count; ++i) {
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 == 0 ? world_rank : -world_rank, &made);
        broadcast(made, i % size, 100, next(&shared));
        if (world_rank == i % size) {
            usleep(100000);
        }
        const int last = 1 + (int)(next(&shared) % 40);
        for (int call = 0; call < last; ++call) {
            broadcast(made, (i + 1) % size, draw_length(&shared), next(&shared));
        }
        if (i + 1 < count) {
            MPI_Comm_free(&made);
        }
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char* const what = argc > 2 ? argv[1] : "";
    const int count = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(what, "ahead") == 0) {
        ahead(count);
    } else if (strcmp(what, "late") == 0) {
        late(count);
    } else if (strcmp(what, "roots") == 0) {
        roots(count);
    } else if (strcmp(what, "free") == 0) {
        free_them(count);
    } else {
        complain("nothing to do", 0, argc);
    }
    // (A rank may be late in its last calls when another ends MPI.)
    return finish_at(strcmp(what, "free") != 0);
}

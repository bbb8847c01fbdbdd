// The usual benchmarks' loops over MPI_Bcast, with every byte compared: their shapes, not their times, are tested.
//
//     latency LONGEST CALLS
//
// For each group (all ranks; the first two, four, ... of them, while the others wait; as many groups of two,
// of three as there are ranks for, at the same time), each length (0, 1, 2, 4, ... LONGEST bytes) and each root,
// CALLS calls after one that is not measured. Rank 0 of each group prints
//
//     latency NAME RANKS BYTES ROOT LEAST MEAN MOST      microseconds; the mean and the extremes of the ranks' means
//
// and once more for each length with root "each", where the root is the next rank from call to call.
#include "tests/mpi/checks.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

struct loop {
    MPI_Comm comm;
    const char* name;
    int rank;
    int size;
    int calls;
    unsigned char* bytes;
};

static unsigned char byte_at(int call, int i) {
    return (unsigned char)((unsigned)(i + call) * 2654435761u >> 24);
}

// The time that it took here.
static double broadcast(struct loop* loop, int length, int root) {
    const int call = ++loop->calls;
    for (int i = 0; i < length; ++i) {
        loop->bytes[i] =
            loop->rank == root ? byte_at(call, i) : (unsigned char)~byte_at(call, i);
    }
    MPI_Barrier(loop->comm);
    const double begun = MPI_Wtime();
    MPI_Bcast(loop->bytes, length, MPI_BYTE, root, loop->comm);
    const double took = MPI_Wtime() - begun;
    for (int i = 0; i < length; ++i) {
        if (loop->bytes[i] != byte_at(call, i)) {
            complain("a wrong byte", call, i);
            break;
        }
    }
    return took;
}

static void print(const struct loop* loop, int length, const char* root, double mean) {
    double least = 0;
    double most = 0;
    double sum = 0;
    MPI_Reduce(&mean, &least, 1, MPI_DOUBLE, MPI_MIN, 0, loop->comm);
    MPI_Reduce(&mean, &most, 1, MPI_DOUBLE, MPI_MAX, 0, loop->comm);
    MPI_Reduce(&mean, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, loop->comm);
    if (loop->rank == 0) {
        printf("latency %s %d %d %s %.1f %.1f %.1f\n",
               loop->name,
               loop->size,
               length,
               root,
               1e6 * least,
               1e6 * sum / loop->size,
               1e6 * most);
        fflush(stdout);
    }
}

static void one_length(struct loop* loop, int length, int count) {
    char word[16];
    for (int root = 0; root < loop->size; ++root) {
        double sum = 0;
        (void)broadcast(loop, length, root);
        for (int i = 0; i < count; ++i) {
            sum += broadcast(loop, length, root);
        }
        snprintf(word, sizeof word, "%d", root);
        print(loop, length, word, sum / count);
    }
    double sum = 0;
    for (int i = 0; i < loop->size * count; ++i) {
        sum += broadcast(loop, length, i % loop->size);
    }
    print(loop, length, "each", sum / (loop->size * count));
}

static void run(MPI_Comm comm, const char* name, int longest, int count) {
    struct loop loop = {comm, name, 0, 0, 0, NULL};
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &loop.rank);
        MPI_Comm_size(comm, &loop.size);
        loop.bytes = malloc((size_t)longest);
        for (int length = 0; length <= longest; length = length == 0 ? 1 : 2 * length) {
            one_length(&loop, length, count);
        }
        free(loop.bytes);
        if (comm != MPI_COMM_WORLD) {
            MPI_Comm_free(&comm);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    MPI_Comm part = MPI_COMM_NULL;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int longest = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int count = argc > 2 ? atoi(argv[2]) : 10;
    for (int some = 2; some < size; some *= 2) {
        MPI_Comm_split(
            MPI_COMM_WORLD, world_rank < some ? 0 : MPI_UNDEFINED, world_rank, &part);
        run(part, "first", longest, count);
    }
    run(MPI_COMM_WORLD, "all", longest, count);
    for (int some = 2; some <= 3; ++some) {  // The ranks of one group are on different nodes.
        const int groups = size / some;
        MPI_Comm_split(MPI_COMM_WORLD,
                       world_rank < groups * some ? world_rank % groups : MPI_UNDEFINED,
                       0,
                       &part);
        run(part, "together", longest, count);
    }
    return finish();
}

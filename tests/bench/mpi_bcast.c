// Measures MPI_Bcast from rank 0.  mpi_bcast WARM REPEAT BYTES...
//
// Of each size WARM calls are made first. The clock, the same for all emulated hosts, runs from the
// last rank's way out of a barrier to the last rank's return from MPI_Bcast. Rank 0 prints
// "BYTES MEDIAN LEAST MOST", seconds.
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int by_value(const void* one, const void* other) {
    const double difference = *(const double*)one - *(const double*)other;
    return difference < 0 ? -1 : difference > 0;
}

static double once(char* bytes, int size) {
    double times[2] = {0, 0};
    double last[2] = {0, 0};
    MPI_Barrier(MPI_COMM_WORLD);
    times[0] = now();
    MPI_Bcast(bytes, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    times[1] = now();
    MPI_Allreduce(times, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return last[1] - last[0];
}

#ifndef OPEN_MPI
static void leave(int signal) {
    (void)signal;
    _exit(0);
}
#endif

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int warm = count > 3 ? atoi(words[1]) : 0;
    const int repeat = count > 3 ? atoi(words[2]) : 0;
    if (repeat < 1) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double* const seconds = malloc((size_t)repeat * sizeof *seconds);
    for (int word = 3; word < count; ++word) {
        const int size = atoi(words[word]);
        char* const bytes = malloc((size_t)size);
        memset(bytes, rank == 0 ? 'x' : 0, (size_t)size);
        for (int i = -warm; i < repeat; ++i) {
            seconds[i < 0 ? 0 : i] = once(bytes, size);
        }
        if (bytes[size / 2] != 'x' || bytes[size - 1] != 'x') {
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        qsort(seconds, (size_t)repeat, sizeof *seconds, by_value);
        if (rank == 0) {
            printf("%d %.6f %.6f %.6f\n", size, seconds[repeat / 2], seconds[0], seconds[repeat - 1]);
            fflush(stdout);
        }
        free(bytes);
    }
#ifndef OPEN_MPI
    // On emulated hosts MPI_Finalize() of MPICH sometimes waits for ever.
    signal(SIGALRM, leave);
    alarm(3);
#endif
    MPI_Finalize();
    return 0;
}

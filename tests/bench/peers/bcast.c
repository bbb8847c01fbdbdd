// Measures how long MPI_Bcast takes for a file.  bcast SOURCE DEST: rank 0 reads it, the others write it.
//
// The clock runs from the last rank's way out of a barrier after MPI_Init to the last rank's return from
// MPI_Bcast: neither start, reading nor writing counts. Each rank prints
// "bcast RANK BEGAN HELD CPU": seconds since the epoch, and CPU seconds from start to end.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double used(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void whole_file(const char* path, char* bytes, size_t size, int to_file) {
    FILE* const file = fopen(path, to_file ? "wb" : "rb");
    if (file == NULL || (to_file ? fwrite(bytes, 1, size, file) : fread(bytes, 1, size, file)) != size ||
        fclose(file) != 0) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct stat state = {0};
    long size = rank == 0 && count == 3 && stat(words[1], &state) == 0 ? (long)state.st_size : 0;
    MPI_Bcast(&size, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    char* const bytes = malloc((size_t)size + 1);
    if (size <= 0 || size > 0x7fffffff || bytes == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    memset(bytes, 0, (size_t)size);
    if (rank == 0) {
        whole_file(words[1], bytes, (size_t)size, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = now();
    MPI_Bcast(bytes, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
    const double held = now();
    if (rank != 0) {
        whole_file(words[2], bytes, (size_t)size, 1);
    }
    printf("\nbcast %d %.6f %.6f %.6f \n", rank, began, held, used());
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

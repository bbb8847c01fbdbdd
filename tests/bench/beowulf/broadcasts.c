// Brim and Sommers' broadcasts of blocks and files, and Hoefler, Siebert and Rehm's of short messages.
//
//     broadcasts blocks REPEAT TOTAL BLOCK...        MPI_Bcast of TOTAL bytes, in blocks of BLOCK bytes
//     broadcasts file REPEAT SOURCE DEST BLOCK       rank 0 reads SOURCE, MPI_Bcast of each block, the others write DEST
//     broadcasts bcast_file REPEAT SOURCE DEST       the same by Bcast_File1
//     broadcasts latency REPEAT RANK MICROSECONDS SIZE...    RANK comes late by that; -1: none does
//
// The clock of the first three runs from the last rank's way out of a barrier to the last rank's return; once is not
// counted. Rank 0 prints "blocks BLOCK MEDIAN LEAST MOST", "file BLOCK ..." (0 for bcast_file), seconds. Of latency all
// ranks begin at moments that were agreed on before, asleep until then; each prints "latency SIZE RANK MEDIAN": seconds
// from that moment to its return.
#define _GNU_SOURCE
#include "stager/mpi/stagecast.h"

#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const double period = 0.02;  // From one short message to the next.
static int rank;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void sleep_until(double moment) {
    struct timespec time = {(time_t)moment, (long)((moment - (double)(time_t)moment) * 1e9)};
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL) == EINTR) {
    }
}

static int by_value(const void* one, const void* other) {
    const double difference = *(const double*)one - *(const double*)other;
    return difference < 0 ? -1 : difference > 0;
}

static double median(double* values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static void must(int is_well, const char* what) {
    if (!is_well) {
        perror(what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

struct job {
    const char* source;
    const char* dest;
    long total;
    long block;
    char* bytes;
};

static void blocks(struct job* job) {
    for (long at = 0; at < job->total; at += job->block) {
        const long size = job->total - at < job->block ? job->total - at : job->block;
        MPI_Bcast(job->bytes + at, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
}

static void file(struct job* job) {
    struct stat state = {0};
    FILE* const opened = rank == 0 ? fopen(job->source, "rb") : fopen(job->dest, "wb");
    must(opened != NULL && (rank != 0 || fstat(fileno(opened), &state) == 0), "open");
    long size = (long)state.st_size;
    MPI_Bcast(&size, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    for (long at = 0; at < size; at += job->block) {
        const size_t part = (size_t)(size - at < job->block ? size - at : job->block);
        must(rank != 0 || fread(job->bytes, 1, part, opened) == part, "read");
        MPI_Bcast(job->bytes, (int)part, MPI_BYTE, 0, MPI_COMM_WORLD);
        must(rank == 0 || fwrite(job->bytes, 1, part, opened) == part, "write");
    }
    must(fclose(opened) == 0, "close");
}

static void by_call(struct job* job) {
    if (Bcast_File1(MPI_COMM_WORLD, job->source, job->dest, STAGECAST_OVERWRITE) != 0) {
        fprintf(stderr, "%s\n", stagecast_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double once(void (*work)(struct job*), struct job* job) {
    double times[2] = {0, 0}, last[2] = {0, 0};
    if (rank != 0 && job->dest != NULL) {
        unlink(job->dest);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    times[0] = now();
    work(job);
    times[1] = now();
    MPI_Allreduce(times, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return last[1] - last[0];
}

static void measure(const char* name, int repeat, void (*work)(struct job*), struct job* job) {
    double* const seconds = calloc((size_t)repeat, sizeof *seconds);
    for (int i = -1; i < repeat; ++i) {
        seconds[i < 0 ? 0 : i] = once(work, job);
    }
    const double middle = median(seconds, repeat);
    if (rank == 0) {
        printf("%s %ld %.6f %.6f %.6f\n", name, job->block, middle, seconds[0], seconds[repeat - 1]);
        fflush(stdout);
    }
    free(seconds);
}

static void measure_blocks(int repeat, char** words, int count) {
    struct job job = {.total = atol(words[0])};
    job.bytes = malloc((size_t)job.total);
    for (int word = 1; word < count; ++word) {
        memset(job.bytes, rank == 0 ? 'x' : 0, (size_t)job.total);
        job.block = atol(words[word]);
        measure("blocks", repeat, blocks, &job);
        must(job.bytes[0] == 'x' && job.bytes[job.total - 1] == 'x', "wrong bytes");
    }
    free(job.bytes);
}

static void measure_file(int repeat, char** words, int count) {
    struct job job = {.source = words[0], .dest = words[1], .block = count > 2 ? atol(words[2]) : 0};
    job.bytes = malloc((size_t)job.block + 1);
    measure("file", repeat, count > 2 ? file : by_call, &job);
    free(job.bytes);
}

static void measure_latency(int repeat, char** words, int count) {
    const double late = atoi(words[0]) == rank ? atof(words[1]) / 1e6 : 0;
    double* const seconds = calloc((size_t)repeat, sizeof *seconds);
    for (int word = 2; word < count; ++word) {
        const int size = atoi(words[word]), warm = 5;
        char* const bytes = malloc((size_t)size);
        double begin = now() + 0.05;
        MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int i = -warm; i < repeat; ++i) {
            const double moment = begin + period * (i + warm);
            memset(bytes, rank == 0 ? i : ~i, (size_t)size);
            sleep_until(moment + late);
            MPI_Bcast(bytes, size, MPI_BYTE, 0, MPI_COMM_WORLD);
            seconds[i < 0 ? 0 : i] = now() - moment;
            must(bytes[0] == (char)i && bytes[size - 1] == (char)i, "wrong bytes");
        }
        printf("latency %d %d %.6f\n", size, rank, median(seconds, repeat));
        fflush(stdout);
        MPI_Barrier(MPI_COMM_WORLD);
        free(bytes);
    }
    free(seconds);
}

#ifndef OPEN_MPI
static void leave(int number) {
    (void)number;
    _exit(0);
}
#endif

int main(int count, char** words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int repeat = count > 4 ? atoi(words[2]) : 0;
    must(repeat > 0, "usage");
    if (strcmp(words[1], "blocks") == 0) {
        measure_blocks(repeat, words + 3, count - 3);
    } else if (strcmp(words[1], "latency") == 0) {
        measure_latency(repeat, words + 3, count - 3);
    } else {
        measure_file(repeat, words + 3, count - 3);
    }
#ifndef OPEN_MPI
    // On emulated hosts MPI_Finalize() of MPICH sometimes waits for ever.
    signal(SIGALRM, leave);
    alarm(3);
#endif
    MPI_Finalize();
    return 0;
}

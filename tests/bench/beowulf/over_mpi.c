// The layer over an MPI, whose launcher starts the tasks.
#define _GNU_SOURCE
#include "layer.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PENDING_MAX = 256 };
static MPI_Request pending[PENDING_MAX];
static int pendings, rank, size;

void layer_begin(int* count, char*** words) {
    struct timespec now;
    MPI_Init(count, words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    clock_gettime(CLOCK_REALTIME, &now);
    printf("ready %.6f\n", (double)now.tv_sec + (double)now.tv_nsec / 1e9);
    fflush(stdout);
}

int layer_task(void) {
    return rank;
}

int layer_tasks(void) {
    return size - 1;
}

static MPI_Request* next(void) {
    if (pendings == PENDING_MAX) {
        layer_settle();
    }
    return &pending[pendings++];
}

void layer_send(int task, const char* bytes, int length) {
    MPI_Isend(bytes, length, MPI_BYTE, task, 0, MPI_COMM_WORLD, next());
}

void layer_settle(void) {
    while (pendings > 0) {
        MPI_Wait(&pending[--pendings], MPI_STATUS_IGNORE);
    }
}

void layer_receive(int task, char* bytes, int length) {
    MPI_Request request;
    MPI_Irecv(bytes, length, MPI_BYTE, task, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Column by column, as the paper's MPI_vector and MPI_hvector.
int layer_send_transposed(int task, const int* numbers, int order) {
    MPI_Datatype column, columns;
    MPI_Type_vector(order, 1, order, MPI_INT, &column);
    MPI_Type_create_hvector(order, 1, sizeof(int), column, &columns);
    MPI_Type_commit(&columns);
    MPI_Isend(numbers, 1, columns, task, 0, MPI_COMM_WORLD, next());
    MPI_Type_free(&column);
    MPI_Type_free(&columns);
    return 1;
}

#ifndef OPEN_MPI
static void leave(int number) {
    (void)number;
    _exit(0);
}
#endif

void layer_end(void) {
#ifndef OPEN_MPI
    // On emulated hosts MPI_Finalize() of MPICH sometimes waits for ever.
    signal(SIGALRM, leave);
    alarm(3);
#endif
    MPI_Finalize();
}

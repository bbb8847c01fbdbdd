// What the test programs for MPI_Bcast share: values that all ranks know, complaints, the end.
//
// Every rank prints "rank R: ok" at the end, or what was wrong first.
#pragma once

#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static int world_rank;
static int wrong;

// splitmix64. A stream that all ranks draw from alike is the same on all of them.
static inline uint64_t next(uint64_t* state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int value_at(uint64_t mark, int i) {
    return (int)((mark + (uint64_t)i) * 0x9e3779b1u);
}

static void complain(const char* what, int call, int at) {
    if (!wrong++) {
        printf("rank %d: call %d: %s at %d\n", world_rank, call, what, at);
        fflush(stdout);
    }
}

#ifndef OPEN_MPI
static void leave(int signal) {
    (void)signal;
    _exit(0);
}
#endif

// Returns what main() returns.
static int finish(void) {
    if (wrong == 0) {
        printf("rank %d: ok\n", world_rank);
    }
    fflush(stdout);
#ifndef OPEN_MPI
    // On emulated hosts MPI_Finalize() of MPICH sometimes waits for ever. (Other ranks may come
    // to it seconds later.)
    signal(SIGALRM, leave);
    alarm(10);
#endif
    MPI_Finalize();
    return wrong != 0;
}

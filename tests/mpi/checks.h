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

// On emulated hosts MPI_Finalize() of MPICH most often waits for ever, after all that libraries
// and tools do in it. (Ranks that do not come to it together may come seconds later.)
static inline void bound_the_end(int together) {
#ifndef OPEN_MPI
    if (together) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    signal(SIGALRM, leave);
    alarm(together ? 5 : 10);
#else
    (void)together;
#endif
}

// Ends MPI, and returns what main() returns. The ranks come to it together, or each when it is
// done.
static inline int finish_at(int together) {
    if (wrong == 0) {
        printf("rank %d: ok\n", world_rank);
    }
    fflush(stdout);
    bound_the_end(together);
    MPI_Finalize();
    return wrong != 0;
}

static inline int finish(void) {
    return finish_at(1);
}

// The collective operations that the library needs of an MPI, as a table of functions.
//
// stagecast_mpi.c fills it and is compiled with each MPI's own compiler; all else of the
// library, in C++, knows no MPI. A leader is the rank that works for its node; that of the
// root's node is the root, leader 0.
#pragma once

#ifdef __cplusplus
#define STAGECAST_WITHOUT_MPI
#endif
#include "stager/mpi/stagecast.h"

#ifdef __cplusplus
extern "C" {
#endif

// Each function returns 0, or an error that describe() puts into words.
struct stagecast_collectives {
    void* context;
    int rank;  // Of the communicator, as in messages.
    int size;
    int leader;  // The own number among the leaders; -1: this rank is none.
    int leaders;
    // Leaders only: from leader 0 to all; and of each leader `count` bytes, to all.
    int (*broadcast)(void* context, void* bytes, size_t count);
    int (*gather)(void* context, const void* own, void* all, size_t count);
    // From a leader to all ranks of its node.
    int (*share)(void* context, void* bytes, size_t count);
    // Gathers one number of each rank.
    int (*gather_numbers)(void* context, const int* own, int* all);
    void (*describe)(int error, char* text, size_t room);
};

// One call, on every rank. Returns what Bcast_File1() does.
int stagecast_run(const struct stagecast_collectives* collectives,
                  const char* src,
                  const char* dst,
                  const stagecast_options* options,
                  stagecast_result** result);
// A call that failed before it began: returns 1, and stagecast_error() says `why`.
int stagecast_refuse(const char* why, stagecast_result** result);

#ifdef __cplusplus
}
#endif

// The MPI's own functions behind those that the library takes the place of.
//
// The library has both names of each, MPI_X and PMPI_X. A tool that is loaded before it
// (Darshan, mpiP, Score-P) calls PMPI_X, and so do Open MPI's bindings for Fortran and some of
// MPICH's: they would pass it by. So neither name leads to the MPI from here; what the loader
// finds after this library does.
//
// That may be another MPI than this library is compiled for (Open MPI and MPICH have handles
// of different sizes and values). Then the library calls nothing of it by itself.
#pragma once

#include <mpi.h>
#include <stdint.h>

struct mpi_behind {
    int is_other;  // Than the MPI that this library is compiled for.
    int (*init)(int*, char***);
    int (*init_thread)(int*, char***, int, int*);
    int (*finalize)(void);
    int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
    int (*comm_free)(MPI_Comm*);
    int (*comm_disconnect)(MPI_Comm*);
    int (*comm_idup)(MPI_Comm, MPI_Comm*, MPI_Request*);
    int (*comm_idup_with_info)(MPI_Comm, MPI_Info, MPI_Comm*, MPI_Request*);
    // With handles as wide as any MPI's: bcast, and MPI_Bcast_c, NULL before MPI 4.
    int (*any_bcast)(void*, int, uintptr_t, int, uintptr_t);
    int (*any_bcast_c)(void*, MPI_Count, uintptr_t, int, uintptr_t);
};

// Set when the library has been loaded.
extern struct mpi_behind mpi_behind;
// For a call by the constructor of another library, which may run before this one's.
void mpi_behind_find(void);

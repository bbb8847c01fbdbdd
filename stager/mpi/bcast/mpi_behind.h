// The MPI's own functions behind those that the library takes the place of.
//
// The library has both names of each, MPI_X and PMPI_X. A tool that is loaded before it
// (Darshan, mpiP, Score-P) calls PMPI_X, and so do Open MPI's bindings for Fortran and some of
// MPICH's: they would pass it by. So neither name leads to the MPI from here; what the loader
// finds after this library does.
#pragma once

#include <mpi.h>

struct mpi_behind {
    int (*init)(int*, char***);
    int (*init_thread)(int*, char***, int, int*);
    int (*finalize)(void);
    int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
    int (*comm_free)(MPI_Comm*);
    int (*comm_disconnect)(MPI_Comm*);
    int (*comm_idup)(MPI_Comm, MPI_Comm*, MPI_Request*);
    // NULL before MPI 4.
    int (*bcast_c)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
    int (*comm_idup_with_info)(MPI_Comm, MPI_Info, MPI_Comm*, MPI_Request*);
};

// Set when the library has been loaded.
extern struct mpi_behind mpi_behind;
// For a call by the constructor of another library, which may run before this one's.
void mpi_behind_find(void);

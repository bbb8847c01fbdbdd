// The part of fortran.f90 that is in C.
#include "tests/mpi/checks.h"

#include <mpi.h>

void broadcast_from_c(int* values, int count, int root, MPI_Fint comm);
void leave_late(void);

void broadcast_from_c(int* values, int count, int root, MPI_Fint comm) {
    MPI_Bcast(values, count, MPI_INT, root, MPI_Comm_f2c(comm));
}

void leave_late(void) {
    bound_the_end(1);
}

// A library that begins MPI before the program does, in a constructor: loaded after libstagecast-bcast, it is
// initialised before it.
#include <mpi.h>
#include <stddef.h>

__attribute__((constructor)) static void begin(void) {
    MPI_Init(NULL, NULL);
}

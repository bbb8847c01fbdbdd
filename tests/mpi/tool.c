// A tool that is loaded before libstagecast-bcast and takes calls of MPI itself, as profilers and tracers do: a library.
#include <mpi.h>
#include <stdio.h>

static int broadcasts;

int MPI_Init(int* argc, char*** argv) {
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    ++broadcasts;
    return PMPI_Bcast(buffer, count, datatype, root, comm);
}

int MPI_Comm_free(MPI_Comm* comm) {
    return PMPI_Comm_free(comm);
}

int MPI_Finalize(void) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "tool: rank %d saw %d broadcasts\n", rank, broadcasts);
    return PMPI_Finalize();
}

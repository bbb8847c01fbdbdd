#define _GNU_SOURCE
#include "stager/mpi/bcast/mpi_behind.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct mpi_behind mpi_behind;

static void find(const char* name, void* place) {
    void* const found = dlsym(RTLD_NEXT, name);
    memcpy(place, &found, sizeof found);
}

// (A program that the library is loaded into may be none of MPI, and expects errno to be 0.)
__attribute__((constructor)) void mpi_behind_find(void) {
    if (mpi_behind.init != NULL) {
        return;
    }
    const int before = errno;
    find("PMPI_Init", &mpi_behind.init);
    find("PMPI_Init_thread", &mpi_behind.init_thread);
    find("PMPI_Finalize", &mpi_behind.finalize);
    find("PMPI_Bcast", &mpi_behind.bcast);
    find("PMPI_Bcast_c", &mpi_behind.bcast_c);
    find("PMPI_Comm_free", &mpi_behind.comm_free);
    find("PMPI_Comm_disconnect", &mpi_behind.comm_disconnect);
    find("PMPI_Comm_idup", &mpi_behind.comm_idup);
    find("PMPI_Comm_idup_with_info", &mpi_behind.comm_idup_with_info);
    errno = before;
}

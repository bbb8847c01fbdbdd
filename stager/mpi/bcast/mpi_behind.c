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

static const void* object_of(const void* place) {
    Dl_info info = {0};
    return place != NULL && dladdr(place, &info) != 0 ? info.dli_fbase : NULL;
}

// By a variable that every MPI of Open MPI's ABI has, and none of MPICH's: this library's own MPI is
// loaded in any case, behind the program's.
static int is_other(void) {
    const void* const variable = object_of(dlsym(RTLD_NEXT, "ompi_mpi_comm_world"));
    const int is_open_mpi =
        variable != NULL && variable == object_of(dlsym(RTLD_NEXT, "PMPI_Init"));
#ifdef OPEN_MPI
    return !is_open_mpi;
#else
    return is_open_mpi;
#endif
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
    find("PMPI_Bcast", &mpi_behind.any_bcast);
    find("PMPI_Bcast_c", &mpi_behind.any_bcast_c);
    find("PMPI_Comm_free", &mpi_behind.comm_free);
    find("PMPI_Comm_disconnect", &mpi_behind.comm_disconnect);
    find("PMPI_Comm_idup", &mpi_behind.comm_idup);
    find("PMPI_Comm_idup_with_info", &mpi_behind.comm_idup_with_info);
    mpi_behind.is_other = is_other();
    errno = before;
}

// What the ring of short messages calls of MPI, for ranks of a simulated world (mpi_world.h).
//
// One communicator, of all ranks. MPI keeps every message that is sent, so that a sender never
// waits. Tags and datatypes are not looked at.
#pragma once

#include <sched.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_Request;
typedef struct {
    int bytes;
} MPI_Status;

enum { MPI_SUCCESS = 0, MPI_ERR_TRUNCATE = 15, MPI_BYTE = 1, MPI_REQUEST_NULL = -1 };
#define MPI_STATUS_IGNORE NULL

int PMPI_Comm_rank(MPI_Comm comm, int* rank);
int PMPI_Comm_size(MPI_Comm comm, int* size);
int PMPI_Send(const void* bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int PMPI_Isend(const void* bytes,
               int count,
               MPI_Datatype type,
               int to,
               int tag,
               MPI_Comm comm,
               MPI_Request* request);
int PMPI_Recv(void* bytes,
              int count,
              MPI_Datatype type,
              int from,
              int tag,
              MPI_Comm comm,
              MPI_Status* status);
int PMPI_Irecv(void* bytes,
               int count,
               MPI_Datatype type,
               int from,
               int tag,
               MPI_Comm comm,
               MPI_Request* request);
int PMPI_Sendrecv(const void* sent,
                  int sent_count,
                  MPI_Datatype sent_type,
                  int to,
                  int sent_tag,
                  void* received,
                  int received_count,
                  MPI_Datatype received_type,
                  int from,
                  int received_tag,
                  MPI_Comm comm,
                  MPI_Status* status);
int PMPI_Ibarrier(MPI_Comm comm, MPI_Request* request);
int PMPI_Test(MPI_Request* request, int* is_done, MPI_Status* status);
int PMPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count);

// A rank that polls: it goes on when something has come.
int sim_mpi_yield(void);

#ifdef __cplusplus
}
#else
#define sched_yield sim_mpi_yield
#endif

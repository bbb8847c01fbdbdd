// The calls of mpi.h, by a simulated rank.
#include "tests/sim/mpi/mpi.h"
#include "tests/sim/mpi/mpi_world.h"

using stage::sim::MpiWorld;

namespace {

stage::Bytes bytes_at(const void* bytes, int count) {
    return {static_cast<const std::byte*>(bytes), static_cast<std::size_t>(count)};
}

stage::MutableBytes room_at(void* bytes, int count) {
    return {static_cast<std::byte*>(bytes), static_cast<std::size_t>(count)};
}

}  // namespace

extern "C" {

int PMPI_Comm_rank(MPI_Comm /*comm*/, int* rank) {
    *rank = MpiWorld::here().rank();
    return MPI_SUCCESS;
}

int PMPI_Comm_size(MPI_Comm /*comm*/, int* size) {
    *size = MpiWorld::here().size();
    return MPI_SUCCESS;
}

int PMPI_Send(const void* bytes,
              int count,
              MPI_Datatype /*type*/,
              int to,
              int /*tag*/,
              MPI_Comm /*comm*/) {
    MpiWorld::here().send(to, bytes_at(bytes, count));
    return MPI_SUCCESS;
}

int PMPI_Isend(const void* bytes,
               int count,
               MPI_Datatype type,
               int to,
               int tag,
               MPI_Comm comm,
               MPI_Request* request) {
    *request = MpiWorld::here().sent();
    return PMPI_Send(bytes, count, type, to, tag, comm);
}

int PMPI_Irecv(void* bytes,
               int count,
               MPI_Datatype /*type*/,
               int from,
               int /*tag*/,
               MPI_Comm /*comm*/,
               MPI_Request* request) {
    *request = MpiWorld::here().receive(from, room_at(bytes, count));
    return MPI_SUCCESS;
}

int PMPI_Recv(void* bytes,
              int count,
              MPI_Datatype type,
              int from,
              int tag,
              MPI_Comm comm,
              MPI_Status* status) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status own{};
    int is_done = 0;
    int error = PMPI_Irecv(bytes, count, type, from, tag, comm, &request);
    while (error == MPI_SUCCESS && is_done == 0) {
        error = PMPI_Test(&request, &is_done, status == nullptr ? &own : status);
        if (is_done == 0) {
            sim_mpi_yield();
        }
    }
    return error;
}

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
                  MPI_Status* status) {
    PMPI_Send(sent, sent_count, sent_type, to, sent_tag, comm);
    return PMPI_Recv(received, received_count, received_type, from, received_tag, comm, status);
}

int PMPI_Ibarrier(MPI_Comm /*comm*/, MPI_Request* request) {
    *request = MpiWorld::here().barrier();
    return MPI_SUCCESS;
}

/// (A caller that asks for the status takes the message for that of its call.)
int PMPI_Test(MPI_Request* request, int* is_done, MPI_Status* status) {
    *is_done = 1;
    if (*request == MPI_REQUEST_NULL) {
        return MPI_SUCCESS;
    }
    const auto bytes = MpiWorld::here().finished(*request, status != nullptr);
    *is_done = bytes ? 1 : 0;
    if (bytes) {
        *request = MPI_REQUEST_NULL;
    }
    if (bytes && status != nullptr) {
        status->bytes = static_cast<int>(*bytes);
    }
    return MPI_SUCCESS;
}

int PMPI_Get_count(const MPI_Status* status, MPI_Datatype /*type*/, int* count) {
    *count = status->bytes;
    return MPI_SUCCESS;
}

int sim_mpi_yield() {
    MpiWorld::here().poll();
    return 0;
}
}

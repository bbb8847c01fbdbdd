#include "tests/sim/baselines/binomial.h"

#include "tests/sim/mpi/mpi.h"

namespace stage::sim {

/// Each rank has the message from the one whose number, counted from the source, lacks its
/// lowest bit, and gives it to those that have one lower bit more, from the highest on.
void binomial_broadcast(MutableBytes bytes, int source) {
    constexpr MPI_Comm kAll = 0;
    constexpr int kTag = 2;
    const int count = static_cast<int>(bytes.size());
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(kAll, &rank);
    PMPI_Comm_size(kAll, &size);
    const int place = (rank - source + size) % size;
    int bit = 1;
    while (bit < size && place % (2 * bit) < bit) {
        bit *= 2;
    }
    if (place != 0) {
        PMPI_Recv(
            bytes.data(), count, MPI_BYTE, (rank - bit + size) % size, kTag, kAll, nullptr);
    }
    for (bit /= 2; bit > 0; bit /= 2) {
        if (place + bit < size) {
            PMPI_Send(bytes.data(), count, MPI_BYTE, (rank + bit) % size, kTag, kAll);
        }
    }
}

}  // namespace stage::sim

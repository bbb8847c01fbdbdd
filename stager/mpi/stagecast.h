// libstagecast-mpi: broadcasts a file to the nodes of an MPI program.
//
// A program that is built against Open MPI links libstagecast-mpi-openmpi, one that is built
// against MPICH links libstagecast-mpi-mpich:
//
//     mpicc.openmpi prog.c $(pkg-config --cflags --libs stagecast-mpi-openmpi)
//
// Neither a daemon nor Slurm is needed. On each node one rank writes, however many ranks the
// node has. A file is verified and has its name only when it is complete: it is whole or
// absent. It has the mode and the time of the source, and the uid of the process.
//
// All calls that take a communicator are collective: every rank of `comm`, an
// intracommunicator, makes the same one. They use collectives of `comm` only, from the calling
// thread, which must be allowed to make MPI calls. The arguments of the root count; those of
// the other ranks are ignored, but for root, result and progress. If MPI itself fails, the
// error handler of `comm` decides; with MPI_ERRORS_RETURN the calls return 1.
//
// The data does not travel by MPI. On each node that needs the file the call starts
// stagecast-worker, which is installed with this library, or the program that STAGECAST_WORKER
// names. The workers send by TCP from node to node, or by multicast where an interface for
// that is configured, encrypted with a key of this call (unless stagecast.conf of the root's
// node has another Protection=). A worker ends with the process that started it. No signal
// handler, thread or memory of the process is used.
#pragma once

// (The library itself is built once without MPI.)
#ifndef STAGECAST_WITHOUT_MPI
#include <mpi.h>
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

// What becomes of an existing destination. 0 is STAGECAST_LEAVE.
enum stagecast_flag {
    STAGECAST_LEAVE = 1,     // It stays as it is.
    STAGECAST_NEWER = 2,     // It is replaced if the source is newer.
    STAGECAST_OVERWRITE = 3  // It is replaced.
};

// What became of the file on the node of a rank.
enum stagecast_status {
    STAGECAST_WRITTEN = 0,  // This call wrote it.
    STAGECAST_THERE = 1,    // It was there: the source, or a file with its time and size.
    STAGECAST_LEFT = 2,     // An existing file was left as it is.
    STAGECAST_FAILED = 3,   // This node failed: see stagecast_result_error().
    STAGECAST_NOT_DONE = 4  // Another node failed; the file is absent here, or whole.
};

// `done` of `total` bytes are on this node. Called on the rank that writes for its node, by the
// thread that made the call, about twice a second.
typedef void (*stagecast_progress)(uint64_t done, uint64_t total, void* data);

typedef struct stagecast_options {
    size_t size;  // sizeof(stagecast_options): fields of newer releases are added at the end.
    int root;     // The rank that has the source: the same on all ranks.
    int flag;     // enum stagecast_flag
    // 0: a node on which the SOURCE exists with the same time and size shares its file system,
    // and gets nothing; the root writes the destination for it. 1: a node on which the
    // DESTINATION exists with that time and size gets nothing, and each other node writes its
    // own. That is for a source in a shared directory and destinations on local disks.
    int on_each_node;
    int durable;                  // 1: synced to the disk before it gets its name.
    const char* transport;        // "tcp", "udp" or "verbs" (multicast); NULL or "auto": below.
    const char* interfaces;       // "eth0", "ib0,eth0" (alternatives), "eth0+eth1" (together).
    uint64_t rate_max;            // Bits per second; 0: no limit.
    unsigned timeout_s;           // For the transfer; 0: no limit.
    unsigned stall_s;             // Without progress; 0: 30.
    stagecast_progress progress;  // The own rank's; may be NULL.
    void* progress_data;
} stagecast_options;
// Transport "auto" is multicast if interfaces are named here, in STAGECAST_INTERFACE or by
// stagecast.conf of the root's node (Interface=), and multicast reaches every node; otherwise
// TCP.

#define STAGECAST_OPTIONS_INIT \
    { sizeof(stagecast_options), 0, STAGECAST_LEAVE, 0, 0, NULL, NULL, 0, 0, 0, NULL, NULL }

// The results of one call, the same on all ranks. Owned by the caller.
typedef struct stagecast_result stagecast_result;

#ifndef STAGECAST_WITHOUT_MPI
// Copies the file `src` of rank 0 to `dst` on every node of `comm`. Relative paths are
// relative to the working directory of rank 0; a `dst` that ends in / or is a directory gets
// the source's name, each node by itself: let it be one everywhere or nowhere. A node on which
// `src` exists with the same time and size, and belongs to the source's owner or to the
// caller, shares the file system of rank 0: nothing is sent to it, and rank 0 writes `dst`.
// Returns 0 on all ranks if every node has the file, and otherwise 1 on all ranks;
// stagecast_error() has the reason. If a node is known to be unable to write its file, none
// gets it; if one fails during the transfer, others may have the whole file.
int Bcast_File1(MPI_Comm comm, const char* src, const char* dst, int flag);

// The same with `src`, made absolute, as destination.
int Bcast_File2(MPI_Comm comm, const char* src, int flag);

// The same with all options. `dst` may be NULL: that of `src`. `options` may be NULL. `result`
// may be NULL; otherwise it is set, also on failure, to a result that the caller frees, or to
// NULL if memory is exhausted, MPI failed or the communicator or root makes no sense.
int stagecast_bcast_file(MPI_Comm comm,
                         const char* src,
                         const char* dst,
                         const stagecast_options* options,
                         stagecast_result** result);

// The same for Fortran (stagecast_f08.f90), with the handle of the communicator. An empty `dst`
// is none.
int stagecast_bcast_file_f(
    MPI_Fint comm, const char* src, const char* dst, int root, int flag, int on_each_node);
#endif

// Why the last call of this thread failed: "rank 3 (n3): /scratch/x: Permission denied"; "" if
// it succeeded. Valid until the next call.
const char* stagecast_error(void);

// An enum stagecast_status; STAGECAST_FAILED for a rank that does not exist.
int stagecast_result_status(const stagecast_result* result, int rank);
// Why the node of that rank failed; "" if it did not. Valid as long as the result.
const char* stagecast_result_error(const stagecast_result* result, int rank);
// The bytes of the file; 0 if they are not known.
uint64_t stagecast_result_bytes(const stagecast_result* result);
// The number of nodes that wrote the file.
int stagecast_result_written(const stagecast_result* result);
// `result` may be NULL.
void stagecast_result_free(stagecast_result* result);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

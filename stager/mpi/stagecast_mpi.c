// The calls of stagecast.h that take a communicator.
//
// Compiled once for each MPI, by its own compiler; the only file that includes mpi.h.
#include "stager/mpi/collectives.h"
#include "stager/mpi/stagecast.h"

#include <string.h>

// A byte count that fits an int.
#define PIECE ((size_t)1 << 30)

struct communicators {
    MPI_Comm all;
    MPI_Comm node;     // The ranks that share this rank's memory; the leader is rank 0.
    MPI_Comm leaders;  // MPI_COMM_NULL: this rank is none.
};

static int broadcast(MPI_Comm comm, void* bytes, size_t count) {
    char* from = bytes;
    while (count > 0) {
        const size_t piece = count < PIECE ? count : PIECE;
        const int error = MPI_Bcast(from, (int)piece, MPI_BYTE, 0, comm);
        if (error != MPI_SUCCESS) {
            return error;
        }
        from += piece;
        count -= piece;
    }
    return MPI_SUCCESS;
}

static int broadcast_to_leaders(void* context, void* bytes, size_t count) {
    const struct communicators* communicators = context;
    return broadcast(communicators->leaders, bytes, count);
}

static int share_in_node(void* context, void* bytes, size_t count) {
    const struct communicators* communicators = context;
    return broadcast(communicators->node, bytes, count);
}

static int gather_of_leaders(void* context, const void* own, void* all, size_t count) {
    const struct communicators* communicators = context;
    if (count > PIECE) {
        return MPI_ERR_COUNT;
    }
    return MPI_Allgather(
        own, (int)count, MPI_BYTE, all, (int)count, MPI_BYTE, communicators->leaders);
}

static int gather_numbers(void* context, const int* own, int* all) {
    const struct communicators* communicators = context;
    return MPI_Allgather(own, 1, MPI_INT, all, 1, MPI_INT, communicators->all);
}

static void describe(int error, char* text, size_t room) {
    char words[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    (void)MPI_Error_string(error, words, &length);
    strncpy(text, words, room - 1);
}

static int same_errhandler(MPI_Comm from, MPI_Comm to) {
    MPI_Errhandler handler;
    int error = MPI_Comm_get_errhandler(from, &handler);
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_set_errhandler(to, handler);
        (void)MPI_Errhandler_free(&handler);
    }
    return error;
}

// The root has rank 0 in its node's communicator and in that of the leaders.
static int split(MPI_Comm comm, int root, struct communicators* made) {
    int rank = 0;
    int size = 1;
    int own = 0;
    int error = MPI_Comm_rank(comm, &rank);
    made->all = comm;
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_size(comm, &size);
    }
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_split_type(comm,
                                    MPI_COMM_TYPE_SHARED,
                                    (rank - root + size) % size,
                                    MPI_INFO_NULL,
                                    &made->node);
    }
    if (error == MPI_SUCCESS) {
        error = same_errhandler(comm, made->node);
    }
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_rank(made->node, &own);
    }
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_split(
            comm, own == 0 ? 0 : MPI_UNDEFINED, (rank - root + size) % size, &made->leaders);
    }
    return error == MPI_SUCCESS && made->leaders != MPI_COMM_NULL
               ? same_errhandler(comm, made->leaders)
               : error;
}

static void release(struct communicators* made) {
    if (made->leaders != MPI_COMM_NULL) {
        (void)MPI_Comm_free(&made->leaders);
    }
    if (made->node != MPI_COMM_NULL) {
        (void)MPI_Comm_free(&made->node);
    }
}

static int refuse_mpi(int error, stagecast_result** result) {
    char text[MPI_MAX_ERROR_STRING + 8] = "MPI: ";
    describe(error, text + 5, sizeof text - 5);
    return stagecast_refuse(text, result);
}

// The root that every rank has to state alike.
static int root_of(const stagecast_options* options) {
    return options == NULL || options->size <= offsetof(stagecast_options, root)
               ? 0
               : options->root;
}

int stagecast_bcast_file(MPI_Comm comm,
                         const char* src,
                         const char* dst,
                         const stagecast_options* options,
                         stagecast_result** result) {
    struct communicators made = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
    struct stagecast_collectives table = {&made,
                                          0,
                                          0,
                                          -1,
                                          0,
                                          broadcast_to_leaders,
                                          gather_of_leaders,
                                          share_in_node,
                                          gather_numbers,
                                          describe};
    const int root = root_of(options);
    int is_inter = 0;
    int failed = 1;
    int error = MPI_Comm_test_inter(comm, &is_inter);
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_rank(comm, &table.rank);
    }
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_size(comm, &table.size);
    }
    if (error != MPI_SUCCESS) {
        return refuse_mpi(error, result);
    }
    if (is_inter || root < 0 || root >= table.size) {
        return stagecast_refuse(is_inter ? "the communicator is an intercommunicator"
                                         : "the root is not a rank of the communicator",
                                result);
    }
    error = split(comm, root, &made);
    if (error == MPI_SUCCESS && made.leaders != MPI_COMM_NULL) {
        error = MPI_Comm_rank(made.leaders, &table.leader);
    }
    if (error == MPI_SUCCESS && made.leaders != MPI_COMM_NULL) {
        error = MPI_Comm_size(made.leaders, &table.leaders);
    }
    failed = error == MPI_SUCCESS ? stagecast_run(&table, src, dst, options, result)
                                  : refuse_mpi(error, result);
    release(&made);
    return failed;
}

int Bcast_File1(MPI_Comm comm, const char* src, const char* dst, int flag) {
    stagecast_options options = STAGECAST_OPTIONS_INIT;
    options.flag = flag;
    return stagecast_bcast_file(comm, src, dst, &options, NULL);
}

int Bcast_File2(MPI_Comm comm, const char* src, int flag) {
    return Bcast_File1(comm, src, NULL, flag);
}

int stagecast_bcast_file_f(
    MPI_Fint comm, const char* src, const char* dst, int root, int flag, int on_each_node) {
    stagecast_options options = STAGECAST_OPTIONS_INIT;
    options.root = root;
    options.flag = flag;
    options.on_each_node = on_each_node;
    const char* const destination = dst != NULL && *dst == '\0' ? NULL : dst;
    return stagecast_bcast_file(MPI_Comm_f2c(comm), src, destination, &options, NULL);
}

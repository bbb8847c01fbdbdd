// Broadcasts on every kind of communicator that MPI makes, from each of its ranks.
//
//     comms intra [FILE]   duplicates, parts, other orders, topologies, merged ones, the ranks of a node; and
//                          FILE, which all ranks share, by MPI's own calls
//     comms inter          between two parts, in both directions, and on what is made of that
//     comms many COUNT     as many communicators at the same time, which end in another order; then a few, with few
//                          descriptors of files
#include "tests/mpi/checks.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LENGTHS = 5 };
static const int lengths[LENGTHS] = {0, 1, 300, 16384, 70001};  // ints

static int calls;
static int deletions;  // Of an attribute of the program's own.

// ---- one broadcast, checked

static void check(const int* buffer, int count, uint64_t mark) {
    for (int i = 0; i < count; ++i) {
        if (buffer[i] != value_at(mark, i)) {
            return complain("a wrong value", calls, i);
        }
    }
}

// (Of the same communicator: ranks differ in how many calls they made before.)
static uint64_t mark_of(int root, int count) {
    return (uint64_t)count * 1000003u + (uint64_t)root;
}

static void broadcast(MPI_Comm comm, int root, int count) {
    const uint64_t mark = mark_of(root, count);
    int* const buffer = calloc((size_t)count + 1, sizeof(int));
    ++calls;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; rank == root && i < count; ++i) {
        buffer[i] = value_at(mark, i);
    }
    MPI_Bcast(buffer, count, MPI_INT, root, comm);
    check(buffer, count, mark);
    free(buffer);
}

static void from_each(MPI_Comm comm) {
    int size = 0;
    if (comm == MPI_COMM_NULL) {
        return;
    }
    MPI_Comm_size(comm, &size);
    for (int root = 0; root < size; ++root) {
        for (int i = 0; i < LENGTHS; ++i) {
            broadcast(comm, root, lengths[i]);
        }
    }
}

static void use_and_free(MPI_Comm comm) {
    from_each(comm);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_free(&comm);
    }
}

// ---- within one group

static MPI_Comm part_of_world(int parts, int key) {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % parts, key, &part);
    return part;
}

static void duplicates(void) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm again = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    from_each(made);
    MPI_Comm_dup(made, &again);
    MPI_Comm_free(&made);
    from_each(again);
    MPI_Comm_disconnect(&again);
    MPI_Info_create(&info);
    MPI_Info_set(info, "tests", "1");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made);
    MPI_Info_free(&info);
    use_and_free(made);
}

// Broadcasts on the parent go on while its duplicate is made. (With Open MPI no communicator gets a group after that.)
static void duplicates_that_wait(void) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm again = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_idup(made, &again, &request);
    from_each(made);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use_and_free(again);
#if MPI_VERSION >= 4 || (defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5)
    use_and_free(made);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_idup_with_info(made, MPI_INFO_NULL, &again, &request);
#ifndef OPEN_MPI  // (5.0.7 waits for ever in some runs, without the library, too.)
    from_each(made);
#endif
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    from_each(made);
    use_and_free(again);
#endif
    use_and_free(made);
}

// Each rank shares one with the rank before and one with the rank after, and frees its own first.
static void ring_of_pairs(void) {
    MPI_Comm pairs[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size; ++i) {
        const int place = world_rank == i ? 0 : world_rank == (i + 1) % size ? 1 : -1;
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, place < 0 ? MPI_UNDEFINED : 0, 0, &made);
        from_each(made);
        if (place >= 0) {
            pairs[place] = made;
        }
    }
    MPI_Comm_free(&pairs[0]);
    MPI_Comm_free(&pairs[1]);
}

static void parts(void) {
    MPI_Comm made = MPI_COMM_NULL;
    use_and_free(part_of_world(1, -world_rank));
    use_and_free(part_of_world(2, -world_rank));
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 7, world_rank, &made);
    use_and_free(made);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    use_and_free(made);
    ring_of_pairs();
}

static void by_groups(void) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int range[1][3] = {{size - 1, 1, -1}};  // All but the first, the last one first.
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &made);
    use_and_free(made);
    made = MPI_COMM_NULL;
    if (world_rank > 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &made);
    }
    use_and_free(made);
    MPI_Group_free(&some);
    MPI_Group_free(&world);
}

static void topologies(void) {
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Comm line = MPI_COMM_NULL;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int extents[2] = {0, 0};
    const int wraps[2] = {1, 0};
    const int one_way[2] = {1, 0};
    const int other_way[2] = {0, 1};
    const int next_one = (world_rank + 1) % size;
    const int one_each = 1;
    MPI_Dims_create(size, 2, extents);
    MPI_Cart_create(MPI_COMM_WORLD, 2, extents, wraps, 1, &grid);
    from_each(grid);
    MPI_Cart_sub(grid, one_way, &line);
    use_and_free(line);
    MPI_Cart_sub(grid, other_way, &line);
    use_and_free(line);
    MPI_Comm_free(&grid);
    MPI_Dist_graph_create(MPI_COMM_WORLD,
                          1,
                          &world_rank,
                          &one_each,
                          &next_one,
                          &one_each,
                          MPI_INFO_NULL,
                          0,
                          &grid);
    use_and_free(grid);
}

static int on_copy(MPI_Comm comm, int key, void* extra, void* value, void* copy, int* flag) {
    (void)comm;
    (void)key;
    (void)extra;
    *(void**)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    ++deletions;
    return MPI_SUCCESS;
}

// What the library keeps of a communicator is neither copied nor in the way of the program's own.
static void attributes(void) {
    MPI_Comm first = MPI_COMM_NULL;
    MPI_Comm second = MPI_COMM_NULL;
    int key = MPI_KEYVAL_INVALID;
    int* value = NULL;
    int is_there = 0;
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    MPI_Comm_create_keyval(on_copy, on_delete, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_set_name(first, "first");
    MPI_Comm_set_attr(first, key, &calls);
    from_each(first);
    MPI_Comm_dup(first, &second);
    MPI_Comm_get_name(first, name, &length);
    MPI_Comm_get_attr(second, key, &value, &is_there);
    if (strcmp(name, "first") != 0 || !is_there || value != &calls) {
        complain("another name or attribute", calls, is_there);
    }
    use_and_free(first);
    use_and_free(second);
    if (deletions != 2) {
        complain("attributes were not deleted", calls, deletions);
    }
    MPI_Comm_free_keyval(&key);
}

// For these ROMIO, which MPICH has in it, broadcasts by PMPI_Bcast.
static void file_of_all(const char* path) {
    enum { COUNT = 20000 };
    int* const values = malloc(COUNT * sizeof *values);
    int size = 0;
    MPI_File file = MPI_FILE_NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int other = (world_rank + 1) % size;
    const MPI_Offset part = COUNT * sizeof *values;
    for (int i = 0; i < COUNT; ++i) {
        values[i] = value_at((uint64_t)world_rank, i);
    }
    if (MPI_File_open(
            MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
        MPI_SUCCESS) {
        complain("no file", calls, 0);
        return;
    }
    MPI_File_write_at_all(file, world_rank * part, values, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_read_at_all(file, other * part, values, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    check(values, COUNT, (uint64_t)other);
    MPI_File_close(&file);
    free(values);
}

static void intra(const char* path) {
    from_each(MPI_COMM_SELF);
    from_each(MPI_COMM_WORLD);
    duplicates();
    parts();
    by_groups();
    topologies();
    attributes();
    if (path != NULL) {
        file_of_all(path);
    }
    duplicates_that_wait();
    from_each(MPI_COMM_WORLD);
}

// ---- between two groups

// From rank `root` of one group to all of the other. The root's companions get nothing.
static void across(MPI_Comm inter, int is_sender, int root, int count, int at_once) {
    const uint64_t mark = mark_of(root, count);
    int* const buffer = malloc(((size_t)count + 1) * sizeof(int));
    int rank = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    ++calls;
    MPI_Comm_rank(inter, &rank);
    const int role = !is_sender ? root : rank == root ? MPI_ROOT : MPI_PROC_NULL;
    for (int i = 0; i < count; ++i) {
        buffer[i] = role == MPI_ROOT ? value_at(mark, i) : -1;
    }
    if (at_once) {
        MPI_Bcast(buffer, count, MPI_INT, role, inter);
    } else {
        MPI_Ibcast(buffer, count, MPI_INT, role, inter, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (role != MPI_PROC_NULL) {
        check(buffer, count, mark);
    }
    for (int i = 0; role == MPI_PROC_NULL && i < count; ++i) {
        if (buffer[i] != -1) {
            return complain("a companion of the root got something", calls, i);
        }
    }
    free(buffer);
}

static void both_ways(MPI_Comm inter, int is_first) {
    int sizes[2] = {0, 0};
    if (inter == MPI_COMM_NULL) {
        return;
    }
    MPI_Comm_size(inter, &sizes[is_first ? 0 : 1]);
    MPI_Comm_remote_size(inter, &sizes[is_first ? 1 : 0]);
    for (int from_second = 0; from_second < 2; ++from_second) {
        for (int root = 0; root < sizes[from_second]; ++root) {
            for (int i = 0; i < LENGTHS; ++i) {
                // (By itself MPI_Ibcast of MPICH 4.0.2 gives wrong values from another root.)
                across(inter, is_first != from_second, root, lengths[i], i != 2 || root > 0);
            }
        }
    }
}

static void inter(void) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm merged = MPI_COMM_NULL;
    const int is_first = world_rank % 2 == 0;
    MPI_Comm local = part_of_world(2, world_rank);
    from_each(local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, is_first ? 1 : 0, 3, &made);
    both_ways(made, is_first);
    MPI_Comm_dup(made, &copy);
    both_ways(copy, is_first);
    MPI_Intercomm_merge(copy, is_first, &merged);
    MPI_Comm_free(&copy);
    use_and_free(merged);
    MPI_Intercomm_merge(made, !is_first, &merged);
    both_ways(made, is_first);
    use_and_free(merged);
    MPI_Comm_disconnect(&made);
    use_and_free(local);
}

// ---- many

// Twice as many as there are, and some more.
static void limit_descriptors(void) {
    struct rlimit limit;
    const int lowest = dup(0);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 2 * (rlim_t)lowest + 20;
    setrlimit(RLIMIT_NOFILE, &limit);
    close(lowest);
}

// The program has a use for them, too.
static void expect_descriptors(void) {
    enum { WANTED = 10 };
    int own[WANTED];
    int got = 0;
    while (got < WANTED && (own[got] = dup(0)) >= 0) {
        ++got;
    }
    for (int i = 0; i < got; ++i) {
        close(own[i]);
    }
    if (got < WANTED) {
        complain("no descriptors are left", calls, got);
    }
}

static void many(int count) {
    MPI_Comm* const comms = malloc((size_t)count * sizeof *comms);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    enum { FEW = 20 };
    for (int turn = 0; turn < 2; ++turn, count = FEW) {
        for (int i = 0; i < count; ++i) {
            MPI_Comm_dup(i % 3 == 0 || i == 0 ? MPI_COMM_WORLD : comms[i - 1], &comms[i]);
            broadcast(comms[i], i % size, 17000);
        }
        expect_descriptors();
        for (int i = count - 1; i >= 0; i -= 2) {
            MPI_Comm_free(&comms[i]);
        }
        for (int i = 0; i < count; ++i) {
            if (comms[i] != MPI_COMM_NULL) {
                broadcast(comms[i], i % size, 17000);
                MPI_Comm_free(&comms[i]);
            }
        }
        limit_descriptors();
    }
    free(comms);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    const char* const what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "intra") == 0) {
        intra(argc > 2 ? argv[2] : NULL);
    } else if (strcmp(what, "inter") == 0) {
        inter();
    } else if (strcmp(what, "many") == 0 && argc > 2) {
        many(atoi(argv[2]));
    } else {
        complain("nothing to do", 0, argc);
    }
    return finish();
}

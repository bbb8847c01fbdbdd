// Broadcasts values of every kind of datatype, and calls MPI_Bcast wrongly.
//
//     types all        predefined and derived ones, of no bytes, with gaps, anywhere in memory
//     types errors     every rank makes the same wrong call: an error on each, and then all goes on
#include "tests/mpi/checks.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 100000, GAP = 0x5a };

static int calls;

static void fill(unsigned char* bytes, size_t count, uint64_t mark) {
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = (unsigned char)(next(&mark) >> 24);
    }
}

struct place {
    size_t before;  // Bytes of the type that lie before its address,
    size_t room;    // and all that the message spans.
};

static struct place place_of(MPI_Datatype type, int count) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lower = 0;
    MPI_Aint true_extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    const MPI_Aint last = (count > 0 ? count - 1 : 0) * extent;
    const MPI_Aint least = true_lower + (last < 0 ? last : 0);
    const MPI_Aint most = true_lower + true_extent + (last > 0 ? last : 0);
    const MPI_Aint begin = least < 0 ? least : 0;
    return (struct place){(size_t)-begin, (size_t)(most - begin) + 16};
}

// What the message leaves in the receiver's memory, gaps and all, is what the MPI's own packing says.
static void broadcast(MPI_Datatype type, int count, int root) {
    const struct place place = place_of(type, count);
    unsigned char* const sent = malloc(place.room);
    unsigned char* const got = malloc(place.room);
    unsigned char* const expected = malloc(place.room);
    int size = 0;
    int end = 0;
    int begin = 0;
    ++calls;
    fill(sent, place.room, (uint64_t)calls);
    memset(expected, GAP, place.room);
    MPI_Pack_size(count, type, MPI_COMM_WORLD, &size);
    void* const packed = malloc((size_t)size + 1);
    MPI_Pack(sent + place.before, count, type, packed, size, &end, MPI_COMM_WORLD);
    MPI_Unpack(packed, end, &begin, expected + place.before, count, type, MPI_COMM_WORLD);
    if (world_rank == root) {
        memcpy(expected, sent, place.room);
        memcpy(got, sent, place.room);
    } else {
        memset(got, GAP, place.room);
    }
    MPI_Bcast(got + place.before, count, type, root, MPI_COMM_WORLD);
    for (size_t i = 0; i < place.room; ++i) {
        if (got[i] != expected[i]) {
            complain("another byte", calls, (int)i);
            break;
        }
    }
    free(packed);
    free(expected);
    free(got);
    free(sent);
}

// Once, and as often as makes a long message; from each rank in turn.
static void try(MPI_Datatype type) {
    static int turn;
    int ranks = 0;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_size(type, &size);
    broadcast(type, 0, turn++ % ranks);
    broadcast(type, 1, turn++ % ranks);
    broadcast(type, 1 + LONG / (size > 0 ? size : LONG), turn++ % ranks);
}

static void try_derived(MPI_Datatype type) {
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    MPI_Type_commit(&type);
    try(type);
    MPI_Type_dup(type, &copy);
    MPI_Type_free(&type);
    try(copy);
    MPI_Type_free(&copy);
}

static void predefined(void) {
    const MPI_Datatype types[] = {MPI_CHAR,
                                  MPI_SIGNED_CHAR,
                                  MPI_UNSIGNED_CHAR,
                                  MPI_BYTE,
                                  MPI_SHORT,
                                  MPI_UNSIGNED_SHORT,
                                  MPI_INT,
                                  MPI_UNSIGNED,
                                  MPI_LONG,
                                  MPI_UNSIGNED_LONG,
                                  MPI_LONG_LONG,
                                  MPI_UNSIGNED_LONG_LONG,
                                  MPI_FLOAT,
                                  MPI_DOUBLE,
                                  MPI_LONG_DOUBLE,
                                  MPI_WCHAR,
                                  MPI_C_BOOL,
                                  MPI_INT8_T,
                                  MPI_INT16_T,
                                  MPI_INT32_T,
                                  MPI_INT64_T,
                                  MPI_UINT8_T,
                                  MPI_UINT16_T,
                                  MPI_UINT32_T,
                                  MPI_UINT64_T,
                                  MPI_AINT,
                                  MPI_OFFSET,
                                  MPI_COUNT,
                                  MPI_PACKED,
                                  MPI_C_FLOAT_COMPLEX,
                                  MPI_C_DOUBLE_COMPLEX,
                                  MPI_C_LONG_DOUBLE_COMPLEX,
                                  MPI_2INT,
                                  MPI_SHORT_INT,
                                  MPI_LONG_INT,
                                  MPI_FLOAT_INT,
                                  MPI_DOUBLE_INT,
                                  MPI_LONG_DOUBLE_INT};
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        try(types[i]);
    }
}

static void derived(void) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    const int sizes[3] = {9, 7, 5};
    const int parts[3] = {4, 3, 2};
    const int begins[3] = {2, 1, 3};
    const int lengths[3] = {2, 0, 3};
    const int indices[3] = {7, 0, 1};
    const MPI_Aint places[3] = {40, 8, -16};
    const MPI_Datatype types[3] = {MPI_DOUBLE, MPI_CHAR, MPI_SHORT};
    MPI_Type_contiguous(0, MPI_INT, &type);
    try_derived(type);
#if MPI_VERSION >= 4
    MPI_Type_contiguous_c(11, MPI_INT, &type);
    try_derived(type);
    MPI_Type_vector_c(5, 3, 7, MPI_FLOAT, &type);
    try_derived(type);
#endif
    MPI_Type_contiguous(11, MPI_SHORT_INT, &type);
    try_derived(type);
    MPI_Type_vector(5, 3, -7, MPI_FLOAT, &type);
    try_derived(type);
    MPI_Type_indexed(3, lengths, indices, MPI_INT, &type);
    try_derived(type);
    MPI_Type_create_struct(3, lengths, places, types, &type);
    try_derived(type);
    MPI_Type_create_subarray(3, sizes, parts, begins, MPI_ORDER_FORTRAN, MPI_INT, &type);
    try_derived(type);
    MPI_Type_create_resized(MPI_INT, -4, 24, &type);
    try_derived(type);
    MPI_Type_create_struct(3, lengths, places, types, &inner);
    MPI_Type_create_hvector(4, 1, 200, inner, &type);
    MPI_Type_free(&inner);
    try_derived(type);
}

// Two parts of memory, by their addresses.
static void by_address(void) {
    static int numbers[LONG];
    static char letters[LONG];
    MPI_Aint places[2] = {0, 0};
    const int lengths[2] = {LONG, LONG};
    const MPI_Datatype types[2] = {MPI_INT, MPI_CHAR};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    for (int i = 0; i < LONG; ++i) {
        numbers[i] = world_rank == 1 ? value_at(5, i) : 0;
        letters[i] = (char)(world_rank == 1 ? value_at(6, i) : 0);
    }
    MPI_Get_address(numbers, &places[0]);
    MPI_Get_address(letters, &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(MPI_BOTTOM, 1, type, 1, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    for (int i = 0; i < LONG; ++i) {
        if (numbers[i] != value_at(5, i) || letters[i] != (char)value_at(6, i)) {
            return complain("a wrong value by address", calls, i);
        }
    }
}

// ---- wrong calls

static void expect(
    int class, void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    int got = MPI_SUCCESS;
    ++calls;
    MPI_Error_class(MPI_Bcast(buffer, count, type, root, comm), &got);
    if (got != class) {
        complain("another error", calls, got);
    }
}

static void errors(void) {
    static int buffer[LONG];
    int size = 0;
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_vector(LONG / 2, 1, 2, MPI_INT, &vector);  // Not committed.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int turn = 0; turn < 2; ++turn) {
        expect(MPI_ERR_ROOT, buffer, LONG, MPI_INT, -7, MPI_COMM_WORLD);
        expect(MPI_ERR_ROOT, buffer, LONG, MPI_INT, size, MPI_COMM_WORLD);
        expect(MPI_ERR_COUNT, buffer, -LONG, MPI_INT, 0, MPI_COMM_WORLD);
        expect(MPI_ERR_TYPE, buffer, LONG, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
        expect(MPI_ERR_TYPE, buffer, 1, vector, 0, MPI_COMM_WORLD);
        expect(MPI_ERR_COMM, buffer, LONG, MPI_INT, 0, MPI_COMM_NULL);
        try(MPI_INT);
    }
    MPI_Type_free(&vector);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (argc > 1 && strcmp(argv[1], "all") == 0) {
        predefined();
        derived();
        by_address();
    } else if (argc > 1 && strcmp(argv[1], "errors") == 0) {
        errors();
    } else {
        complain("nothing to do", 0, argc);
    }
    return finish();
}

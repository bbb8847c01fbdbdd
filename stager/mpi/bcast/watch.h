// Says that a rank waits for others in MPI_Bcast, once for each process.
//
// Ranks that name different numbers of bytes may take different ways, the group's and the
// MPI's, and then wait for each other for ever. No rank can tell that from others that come
// late, so this is a message and not an error. A thread looks once a second; it begins with
// the first wait, and calls no MPI.
#pragma once

#include "stager/mpi/bcast/choice.h"

#include <stddef.h>

// Once, with what the message names.
void watch_prepare(const struct stagecast_settings* settings, int rank);
// The calling thread waits for the other ranks of a communicator from now on, until the
// end. Pairs do not nest.
void watch_begin(size_t bytes, int size);
void watch_end(void);
// Ends the thread. Later waits are not watched.
void watch_close(void);

// What patterns.c needs of a message passing system.  over_mpi.c and over_pvm.c have it.
//
// Task 0, the head, is on the first host and times; tasks 1 and on are on one of the other
// hosts each. An error of the system ends the program.
#pragma once

// Starts the tasks, or takes part in that. ROUTE and TASKS are the first two words; the others
// are the same in all tasks. Prints "spawned SECONDS" if the head starts the tasks itself, from
// the call that does it until all have said that they are there, else "ready AT" by each task
// (seconds since the epoch).
void layer_begin(int* count, char*** words);
int layer_task(void);
// Without the head.
int layer_tasks(void);
// Returns at once; the bytes may be changed after layer_settle().
void layer_send(int task, const char* bytes, int size);
void layer_settle(void);
void layer_receive(int task, char* bytes, int size);
// Sends a square matrix with rows and columns exchanged, by the system's own data types.
// Returns 0 if it has none for that.
int layer_send_transposed(int task, const int* numbers, int order);
void layer_end(void);

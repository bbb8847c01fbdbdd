// Decides when a group that failed is tried again.
//
// After a first failure the next message tries again: a switch may need longer than one
// session to forward a new group. After a second one in a row the paths between the nodes are
// at fault. Then every communicator of the process waits, except those whose last message a
// group carried. Each wait is twice as long as the one before.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum { STAGECAST_WAIT_S = 10, STAGECAST_WAIT_MAX_S = 3600 };

// What a process knows of the paths from its node. Zeroed, it knows nothing.
struct stagecast_paths {
    int waits;     // Begun since a group that had failed carried a message.
    double until;  // The end of the last one, in seconds of any clock.
};
// What it knows of one communicator. Zeroed, it knows nothing.
struct stagecast_record {
    int failures;   // In a row.
    int is_proven;  // The last message was carried.
};

// Returns 1 if the communicator has to wait.
int stagecast_must_wait(const struct stagecast_paths* paths,
                        const struct stagecast_record* record,
                        double now);
// Returns the seconds of the wait that begins with this failure; 0: none begins.
int stagecast_note_failure(struct stagecast_paths* paths,
                           struct stagecast_record* record,
                           double now);
void stagecast_note_success(struct stagecast_paths* paths, struct stagecast_record* record);

#ifdef __cplusplus
}
#endif

// Chooses how a call of MPI_Bcast is carried out: by the MPI itself or by the group.
//
// Whatever decides is the same on all ranks of a communicator: settings, number of bytes, the
// calls before, and times of which all ranks know the longest.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { STAGECAST_BCAST_OFF, STAGECAST_BCAST_AUTO, STAGECAST_BCAST_FORCE };

struct stagecast_settings {
    int64_t mode;
    int64_t is_verbose;
    int64_t least_bytes;  // Of long messages.
    int64_t short_bytes;  // The most of short ones. Those between the two are the MPI's.
    int64_t is_unclear;   // A variable makes no sense; so the mode is off.
};

// From STAGECAST_BCAST, STAGECAST_BCAST_VERBOSE, STAGECAST_BCAST_MIN and STAGECAST_BCAST_SHORT.
struct stagecast_settings stagecast_settings_of_environment(void);

enum { STAGECAST_BY_MPI, STAGECAST_BY_GROUP, STAGECAST_WAYS };

// The calls of one communicator with messages of about one size.
struct stagecast_trial {
    int calls;
    int is_decided;
    int way;                         // Once it is decided.
    double seconds[STAGECAST_WAYS];  // The shortest so far; 0: none.
};

// Messages of one class are between four times as long as those of the class before and four
// times as short as those of the next.
enum { STAGECAST_CLASSES = 6 };
int stagecast_class_of(uint64_t bytes, uint64_t least_bytes);
// Short messages: of one packet, and of several.
enum { STAGECAST_SHORT_CLASSES = 2 };
int stagecast_short_class_of(uint64_t bytes);

// How the next call goes. The first one by the group, which finds its rate, is not measured;
// then both ways take turns.
int stagecast_next_way(const struct stagecast_trial* trial);
// How long it took here. Returns 1 if that was the last of the trial's calls: decide.
enum { STAGECAST_TRIAL_CALLS = 5, STAGECAST_SHORT_TRIAL_CALLS = 41 };
int stagecast_tell(struct stagecast_trial* trial, double seconds, int trial_calls);
// All calls again: one of them was not by the way that was its turn.
void stagecast_restart(struct stagecast_trial* trial);
// With the longest times of all ranks.
void stagecast_decide(struct stagecast_trial* trial, const double* seconds);

#ifdef __cplusplus
}
#endif

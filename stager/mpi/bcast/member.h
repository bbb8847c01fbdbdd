// One node's membership of the multicast group of a communicator.
//
// Between the steps of its making the caller exchanges records of all members by collectives
// of MPI. Each step is taken whatever failed before, so that no member waits for one that has
// given up; whether this one is usable is the result of the last step. One thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STAGECAST_RECORD_BYTES 512

typedef struct stagecast_member stagecast_member;

enum { STAGECAST_MOVES, STAGECAST_HOLDS, STAGECAST_FAILS };

// Called often while the calling thread broadcasts, with one of the three. Not 0: it is known
// that the members need nothing of each other any more, so that this one may leave.
typedef int (*stagecast_may_leave)(void* context, int state);

// Writes a record: where this host may be reached. NULL: memory is exhausted. To be closed.
stagecast_member* stagecast_member_open(unsigned char* record);
// The records of all `count` members, this one's at `own`; opens the own socket, and
// with `is_short` what short messages need, and writes the second record. Member 0 draws keys
// and group.
void stagecast_member_meet(stagecast_member* member,
                           const unsigned char* records,
                           int count,
                           int own,
                           int is_short,
                           unsigned char* record);
// The second records of all. Returns 1 if this member is usable, otherwise 0.
int stagecast_member_join(stagecast_member* member, const unsigned char* records);

// After the last step, if this member is usable and is to carry short messages. Returns 1 if it
// can, otherwise 0.
int stagecast_member_open_short(stagecast_member* member);

// All members at once: the bytes of member `source` are in those of all. Returns
// STAGECAST_HOLDS or STAGECAST_FAILS, or STAGECAST_MOVES if it left before either.
int stagecast_member_broadcast(stagecast_member* member,
                               int source,
                               void* bytes,
                               size_t count,
                               stagecast_may_leave may_leave,
                               void* context);
// In place of a broadcast, which the other members begin: without this one they fail.
void stagecast_member_skip(stagecast_member* member);
// The rate that the last broadcast from here found, bits per second; 0: there was none. The
// next one begins with it, or with what another member found.
uint64_t stagecast_member_rate(const stagecast_member* member);
void stagecast_member_set_rate(stagecast_member* member, uint64_t rate);
// Why the last step or broadcast failed; "" if it did not. Valid until the next one.
const char* stagecast_member_error(const stagecast_member* member);

// Short messages, of the call with that number among the short calls of the communicator.
enum { STAGECAST_SHORT_BYTES = 8192 };
// Multicasts one. Returns the count of packets.
int stagecast_member_send_short(stagecast_member* member,
                                uint64_t call,
                                const void* bytes,
                                size_t count);
// Returns 1 if that of `source` has arrived, and it is in `bytes`; otherwise 0, at once.
int stagecast_member_take_short(
    stagecast_member* member, uint64_t call, int source, void* bytes, size_t count);

void stagecast_member_close(stagecast_member* member);

#ifdef __cplusplus
}
#endif

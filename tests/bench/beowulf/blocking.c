// Lets an MPI wait where it polls.  Preloaded on emulated hosts, which share few processors.
//
// The ranks of an emulated cluster poll on the processors that the others need, where each rank of a
// real one has its own. A poll that has found nothing many times in a row waits for an event here,
// a millisecond at most. What it waits for is what it polled. The row begins anew when the program
// has slept: then its library may have work that no poll tells of.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <time.h>

enum { EMPTY_MAX = 20, WAIT_MS = 1 };
static __thread int empty;

// Whether to wait now.
static int is_idle(int milliseconds, int found) {
    empty = found == 0 ? empty + 1 : 0;
    return milliseconds == 0 && empty > EMPTY_MAX;
}

static int waited(int found) {
    empty = found == 0 ? empty : 0;
    return found;
}

int epoll_wait(int set, struct epoll_event* events, int most, int milliseconds) {
    static int (*original)(int, struct epoll_event*, int, int);
    if (original == NULL) {
        original = (int (*)(int, struct epoll_event*, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    }
    const int found = original(set, events, most, milliseconds);
    return is_idle(milliseconds, found) ? waited(original(set, events, most, WAIT_MS)) : found;
}

int poll(struct pollfd* polled, nfds_t count, int milliseconds) {
    static int (*original)(struct pollfd*, nfds_t, int);
    if (original == NULL) {
        original = (int (*)(struct pollfd*, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    }
    const int found = original(polled, count, milliseconds);
    return is_idle(milliseconds, found) ? waited(original(polled, count, WAIT_MS)) : found;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec* time, struct timespec* left) {
    static int (*original)(clockid_t, int, const struct timespec*, struct timespec*);
    if (original == NULL) {
        original = (int (*)(clockid_t, int, const struct timespec*, struct timespec*))dlsym(RTLD_NEXT, "clock_nanosleep");
    }
    empty = 0;
    return original(clock, flags, time, left);
}

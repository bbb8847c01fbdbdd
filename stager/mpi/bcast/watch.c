#define _GNU_SOURCE
#include "stager/mpi/bcast/watch.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_AFTER_S = 10, RANKS_AT_FIRST = 4, STACK_BYTES = 128 << 10 };

struct wait {
    time_t begun;  // 0: it is not in the list.
    size_t bytes;
    int size;
    struct wait* next;
};

static _Thread_local struct wait own;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct wait* waits;
static int is_over = 1;  // Nothing is watched: not yet, no more, or it has been said.
static int is_started;
static long long least_bytes;
static long long short_bytes;
static int world_rank;

static time_t now(void) {
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec + 1;
}

// Not all ranks of a large program speak at once: the number of those that have doubles every
// ten seconds.
static time_t message_after_s(void) {
    time_t seconds = FIRST_AFTER_S;
    for (int ranks = RANKS_AT_FIRST; ranks <= world_rank && ranks < INT_MAX / 2; ranks *= 2) {
        seconds += FIRST_AFTER_S;
    }
    return seconds;
}

static void say(const struct wait* wait) {
    char text[512];
    const int length =
        snprintf(text,
                 sizeof text,
                 "stagecast: rank %d has waited %lld s for other ranks in an MPI_Bcast of %zu "
                 "bytes on a "
                 "communicator of %d ranks: they are late, or name numbers of bytes that "
                 "differ, on both "
                 "sides of STAGECAST_BCAST_MIN (%lld) or STAGECAST_BCAST_SHORT (%lld); with "
                 "STAGECAST_BCAST=off the MPI itself reports that\n",
                 world_rank,
                 (long long)message_after_s(),
                 wait->bytes,
                 wait->size,
                 least_bytes,
                 short_bytes);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) {
        return;  // There is no other place to say it.
    }
}

static void* look(void* unused) {
    const struct timespec second = {.tv_sec = 1};
    int is_done = 0;
    while (!is_done) {
        (void)nanosleep(&second, NULL);
        (void)pthread_mutex_lock(&mutex);
        for (const struct wait* wait = waits; wait != NULL && !is_over; wait = wait->next) {
            if (now() - wait->begun >= message_after_s()) {
                say(wait);
                is_over = 1;
            }
        }
        is_done = is_over;
        (void)pthread_mutex_unlock(&mutex);
    }
    return unused;
}

// (Signals are the program's threads'. Without the thread nothing is said.)
static void start(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    if (pthread_attr_init(&attributes) != 0) {
        return;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &attributes, look, NULL) != 0) {
        is_over = 1;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
}

void watch_prepare(const struct stagecast_settings* settings, int rank) {
    least_bytes = settings->least_bytes;
    short_bytes = settings->short_bytes;
    world_rank = rank;
    is_over = 0;
}

void watch_begin(size_t bytes, int size) {
    (void)pthread_mutex_lock(&mutex);
    if (!is_over) {
        if (!is_started) {
            is_started = 1;
            start();
        }
        own = (struct wait){.begun = now(), .bytes = bytes, .size = size, .next = waits};
        waits = &own;
    }
    (void)pthread_mutex_unlock(&mutex);
}

void watch_end(void) {
    (void)pthread_mutex_lock(&mutex);
    if (own.begun != 0) {
        struct wait** place = &waits;
        while (*place != &own) {
            place = &(*place)->next;
        }
        *place = own.next;
        own.begun = 0;
    }
    (void)pthread_mutex_unlock(&mutex);
}

void watch_close(void) {
    (void)pthread_mutex_lock(&mutex);
    is_over = 1;
    (void)pthread_mutex_unlock(&mutex);
}

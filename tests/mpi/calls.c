// Makes calls of libstagecast-mpi, one for each argument, and prints what every rank got.
//
//     calls WORD=VALUE,WORD=VALUE,... ...
//
// src= dst= root= flag= each= rate= stall= transport= on= as in stagecast.h; plain=1 calls
// Bcast_File1() or Bcast_File2(); say=FILE: while the call runs each rank that writes appends a
// line to FILE once bytes arrive; interrupt=1: a signal arrives every millisecond meanwhile, as a
// profiler's; processes=N: the user may have N while the call runs. Each rank prints a line for each call, "NUMBER RANK NODE rc=R
// status=S written=W error=TEXT".
#define _DEFAULT_SOURCE
#include "stager/mpi/stagecast.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

struct call {
    char* src;
    char* dst;
    char* say;
    int plain;
    int interrupt;
    int processes;
    stagecast_options options;
};

static void take(struct call* call, char* word) {
    char* value = strchr(word, '=');
    if (value == NULL) {
        return;
    }
    *value++ = '\0';
    if (strcmp(word, "src") == 0) {
        call->src = value;
    } else if (strcmp(word, "dst") == 0) {
        call->dst = value;
    } else if (strcmp(word, "say") == 0) {
        call->say = value;
    } else if (strcmp(word, "plain") == 0) {
        call->plain = atoi(value);
    } else if (strcmp(word, "interrupt") == 0) {
        call->interrupt = atoi(value);
    } else if (strcmp(word, "processes") == 0) {
        call->processes = atoi(value);
    } else if (strcmp(word, "root") == 0) {
        call->options.root = atoi(value);
    } else if (strcmp(word, "flag") == 0) {
        call->options.flag = atoi(value);
    } else if (strcmp(word, "each") == 0) {
        call->options.on_each_node = atoi(value);
    } else if (strcmp(word, "rate") == 0) {
        call->options.rate_max = strtoull(value, NULL, 10);
    } else if (strcmp(word, "stall") == 0) {
        call->options.stall_s = (unsigned)atoi(value);
    } else if (strcmp(word, "on") == 0) {
        call->options.interfaces = value;
    } else if (strcmp(word, "transport") == 0) {
        call->options.transport = value;
    }
}

static void on_progress(uint64_t done, uint64_t total, void* data) {
    FILE* file = done > 0 ? fopen(data, "a") : NULL;
    if (file != NULL) {
        fprintf(file, "%llu of %llu\n", (unsigned long long)done, (unsigned long long)total);
        fclose(file);
    }
}

static int make(struct call* call, stagecast_result** result) {
    if (call->plain) {
        return call->dst == NULL
                   ? Bcast_File2(MPI_COMM_WORLD, call->src, call->options.flag)
                   : Bcast_File1(MPI_COMM_WORLD, call->src, call->dst, call->options.flag);
    }
    if (call->say != NULL) {
        call->options.progress = on_progress;
        call->options.progress_data = call->say;
    }
    return stagecast_bcast_file(MPI_COMM_WORLD, call->src, call->dst, &call->options, result);
}

static void on_timer(int signal) {
    (void)signal;
}

// 0: no more. What the signal interrupts is not begun again by the kernel.
static void interrupt_every(suseconds_t microseconds) {
    struct sigaction action = {.sa_handler = on_timer};
    const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

// 0: as many as before.
static void limit_processes(int count) {
    struct rlimit limit;
    getrlimit(RLIMIT_NPROC, &limit);
    limit.rlim_cur = count > 0 ? (rlim_t)count : limit.rlim_max;
    setrlimit(RLIMIT_NPROC, &limit);
}

#ifndef OPEN_MPI
static void leave(int signal) {
    (void)signal;
    _exit(0);
}
#endif

int main(int argc, char** argv) {
    int rank = 0;
    char node[256] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    gethostname(node, sizeof node - 1);
    for (int i = 1; i < argc; ++i) {
        struct call call = {NULL, NULL, NULL, 0, 0, 0, STAGECAST_OPTIONS_INIT};
        stagecast_result* result = NULL;
        int rc = 0;
        for (char* word = strtok(argv[i], ","); word != NULL; word = strtok(NULL, ",")) {
            take(&call, word);
        }
        interrupt_every(call.interrupt ? 1000 : 0);
        limit_processes(call.processes);
        rc = make(&call, &result);
        limit_processes(0);
        interrupt_every(0);
        printf("%d %d %s rc=%d status=%d written=%d error=%s\n",
               i,
               rank,
               node,
               rc,
               result == NULL ? -1 : stagecast_result_status(result, rank),
               stagecast_result_written(result),
               stagecast_error());
        fflush(stdout);
        stagecast_result_free(result);
    }
#ifndef OPEN_MPI
    // On emulated hosts MPI_Finalize() of MPICH most often waits for ever.
    MPI_Barrier(MPI_COMM_WORLD);
    signal(SIGALRM, leave);
    alarm(2);
#endif
    MPI_Finalize();
    return 0;
}

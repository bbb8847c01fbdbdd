// The layer over PVM 3.4: the head starts the tasks, one on each of the other hosts.
//
// ROUTE "default" is by way of the daemons, "direct" from task to task.
#define _GNU_SOURCE
#include "layer.h"

#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TASKS_MAX = 64, TAG = 1 };
static int ids[TASKS_MAX + 1], task, tasks;

static void must(int result, const char* what) {
    if (result < 0) {
        pvm_perror((char*)what);
        pvm_exit();
        exit(1);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void spawn(char** words) {
    char byte = 0, here[] = ".";
    const double began = now();
    const int many = pvm_spawn(words[0], words + 1, PvmTaskHost | PvmHostCompl, here, tasks, ids + 1);
    if (many != tasks) {
        fprintf(stderr, "pvm_spawn: %d of %d tasks, %d\n", many, tasks, ids[many < 0 ? 1 : many + 1]);
        pvm_exit();
        exit(1);
    }
    for (int one = 1; one <= tasks; ++one) {
        pvm_initsend(PvmDataRaw);
        pvm_pkint(ids, tasks + 1, 1);
        pvm_pkint(&one, 1, 1);
        must(pvm_send(ids[one], TAG), "pvm_send");
    }
    for (int one = 1; one <= tasks; ++one) {
        layer_receive(one, &byte, 1);
    }
    printf("spawned %.6f\n", now() - began);
    fflush(stdout);
}

void layer_begin(int* count, char*** words) {
    char byte = 0;
    tasks = *count > 2 ? atoi((*words)[2]) : 0;
    if (tasks < 1 || tasks > TASKS_MAX) {
        fprintf(stderr, "1 to %d tasks\n", TASKS_MAX);
        exit(2);
    }
    must(ids[0] = pvm_mytid(), "pvm_mytid");
    pvm_setopt(PvmRoute, strcmp((*words)[1], "direct") == 0 ? PvmRouteDirect : PvmDontRoute);
    if (pvm_parent() == PvmNoParent) {
        spawn(*words);
        return;
    }
    must(pvm_recv(pvm_parent(), TAG), "pvm_recv");
    pvm_upkint(ids, tasks + 1, 1);
    pvm_upkint(&task, 1, 1);
    layer_send(0, &byte, 1);
}

int layer_task(void) {
    return task;
}

int layer_tasks(void) {
    return tasks;
}

void layer_send(int to, const char* bytes, int size) {
    pvm_initsend(PvmDataRaw);
    pvm_pkbyte((char*)bytes, size, 1);
    must(pvm_send(ids[to], TAG), "pvm_send");
}

void layer_settle(void) {}

void layer_receive(int from, char* bytes, int size) {
    must(pvm_recv(ids[from], TAG), "pvm_recv");
    pvm_upkbyte(bytes, size, 1);
}

int layer_send_transposed(int to, const int* numbers, int order) {
    (void)to;
    (void)numbers;
    (void)order;
    return 0;
}

void layer_end(void) {
    pvm_exit();
}

// Carns, Ligon, McMillan and Ross's patterns of messages, sections 3.2 and 3.3.
//
//     patterns ROUTE TASKS REPEAT LOOPS PATTERN:SIZE...
//
// The head says "go" to every task and waits for a byte from each, REPEAT times after once that does
// not count. It prints "PATTERN SIZE MEDIAN LEAST MOST": seconds for one loop. SIZE is bytes; of
// transpose and raw it is the order of a matrix of ints. Without a pattern the tasks start and end.
#define _GNU_SOURCE
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
    char pattern[16];
    int size;  // In bytes.
    int order;
    int loops;
    char* bytes;
    char* other;
};

// Members at `first`, `first` + `step`, ...: a message goes from the first one around to it.
struct ring {
    int first, step, length;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char* what) {
    fprintf(stderr, "patterns: %s\n", what);
    exit(1);
}

static void send_whole(struct work* work, int task) {
    layer_send(task, work->bytes, work->size);
}

static void send_transposed(struct work* work, int task) {
    if (!layer_send_transposed(task, (const int*)work->bytes, work->order)) {
        fail("no data type for this");
    }
}

static void send_raw(struct work* work, int task) {
    const int* const from = (const int*)work->bytes;
    int* const to = (int*)work->other;
    for (int row = 0; row < work->order; ++row) {
        for (int column = 0; column < work->order; ++column) {
            to[column * work->order + row] = from[row * work->order + column];
        }
    }
    layer_send(task, work->other, work->size);
}

static void around(struct ring ring, struct work* work, void (*send)(struct work*, int)) {
    const int place = (layer_task() - ring.first) / ring.step;
    const int next = ring.first + (place + 1) % ring.length * ring.step;
    const int before = ring.first + (place + ring.length - 1) % ring.length * ring.step;
    for (int loop = 0; loop < work->loops; ++loop) {
        if (place != 0) {
            layer_receive(before, work->bytes, work->size);
        }
        send(work, next);
        layer_settle();
        if (place == 0) {
            layer_receive(before, work->bytes, work->size);
        }
    }
}

static void bottleneck(struct work* work) {
    for (int loop = 0; loop < work->loops; ++loop) {
        if (layer_task() != 1) {
            layer_receive(1, work->bytes, work->size);
            layer_send(1, work->bytes, work->size);
        }
        for (int task = 2; layer_task() == 1 && task <= layer_tasks(); ++task) {
            layer_send(task, work->bytes, work->size);
        }
        for (int task = 2; layer_task() == 1 && task <= layer_tasks(); ++task) {
            layer_receive(task, work->other, work->size);
        }
        layer_settle();
    }
}

static int side_of(int tasks) {
    int side = 1;
    while (side * side < tasks) {
        ++side;
    }
    if (side * side != tasks) {
        fail("the tasks of a torus are a square");
    }
    return side;
}

static void carry_out(struct work* work) {
    const int at = layer_task() - 1, tasks = layer_tasks();
    const struct ring all = {1, 1, tasks};
    if (strcmp(work->pattern, "ring") == 0) {
        around(all, work, send_whole);
    } else if (strcmp(work->pattern, "row") == 0) {
        const int side = side_of(tasks);
        around((struct ring){1 + at / side * side, 1, side}, work, send_whole);
    } else if (strcmp(work->pattern, "column") == 0) {
        const int side = side_of(tasks);
        around((struct ring){1 + at % side, side, side}, work, send_whole);
    } else if (strcmp(work->pattern, "bottleneck") == 0) {
        bottleneck(work);
    } else {
        around(all, work, strcmp(work->pattern, "raw") == 0 ? send_raw : send_transposed);
    }
}

static int parse(struct work* work, const char* word) {
    if (sscanf(word, "%15[a-z]:%d", work->pattern, &work->size) != 2 || work->size < 1) {
        fail("PATTERN:SIZE");
    }
    const int shown = work->size;
    if (strcmp(work->pattern, "raw") == 0 || strcmp(work->pattern, "transpose") == 0) {
        work->order = work->size;
        work->size = work->order * work->order * (int)sizeof(int);
    }
    work->bytes = malloc((size_t)work->size);
    work->other = malloc((size_t)work->size);
    if (work->bytes == NULL || work->other == NULL) {
        fail("no memory");
    }
    for (int i = 0; i < work->size; ++i) {
        work->bytes[i] = layer_task() == 1 ? (char)(i * 31 + i / 256) : 0;
    }
    return shown;
}

// As many times as it was sent on, even for 16 tasks, a matrix is what it was.
static void check(const struct work* work) {
    for (int i = 0; layer_task() == 1 && i < work->size && layer_tasks() % 2 == 0; ++i) {
        if (work->bytes[i] != (char)(i * 31 + i / 256)) {
            fail("wrong bytes came back");
        }
    }
}

static double head(void) {
    char byte = 0;
    const double began = now();
    for (int task = 1; task <= layer_tasks(); ++task) {
        layer_send(task, &byte, 1);
    }
    for (int task = 1; task <= layer_tasks(); ++task) {
        layer_receive(task, &byte, 1);
    }
    const double took = now() - began;
    layer_settle();
    return took;
}

static double once(struct work* work) {
    char byte = 0;
    if (layer_task() == 0) {
        return head();
    }
    layer_receive(0, &byte, 1);
    carry_out(work);
    layer_send(0, &byte, 1);
    layer_settle();
    check(work);
    return 0;
}

static int by_value(const void* one, const void* other) {
    const double difference = *(const double*)one - *(const double*)other;
    return difference < 0 ? -1 : difference > 0;
}

int main(int count, char** words) {
    layer_begin(&count, &words);
    const int repeat = count > 4 ? atoi(words[3]) : 0;
    double* const seconds = calloc((size_t)repeat + 1, sizeof *seconds);
    for (int word = 5; word < count && repeat > 0; ++word) {
        struct work work = {.loops = atoi(words[4])};
        const int shown = parse(&work, words[word]);
        for (int i = -1; i < repeat; ++i) {
            seconds[i < 0 ? 0 : i] = once(&work) / work.loops;
        }
        qsort(seconds, (size_t)repeat, sizeof *seconds, by_value);
        if (layer_task() == 0) {
            printf("%s %d %.6f %.6f %.6f\n", work.pattern, shown, seconds[repeat / 2], seconds[0], seconds[repeat - 1]);
            fflush(stdout);
        }
        free(work.bytes);
        free(work.other);
    }
    free(seconds);
    layer_end();
    return 0;
}

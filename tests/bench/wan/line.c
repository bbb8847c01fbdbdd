// A long path between two network namespaces, in user space: netem is not in every kernel.
//
//   line NETNS_A NETNS_B RATE_MBIT DELAY_MS LOSS_PPM QUEUE_BYTES [SEED]
//
// Makes the TUN device wan0 in each (10.99.0.1/30 in A, 10.99.0.2/30 in B, MTU 1500) and carries
// packets between them. In each direction: one queue of QUEUE_BYTES, RATE_MBIT on the wire, then
// LOSS_PPM of the packets are lost at random, and the others arrive DELAY_MS later. Prints "ready"
// when both devices are up, and at its end (SIGTERM) what each direction did.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    PLACES = 1 << 16,     // packets under way in one direction
    PACKET_BYTES = 1600,  // at most; the devices' MTU is 1500
    WIRE_BYTES = 38,      // Ethernet's header, checksum, preamble and gap
    BURST = 64,           // packets taken before those that are due leave
};

struct packet {
    int64_t due;
    int length;
    unsigned char bytes[PACKET_BYTES];
};
struct direction {
    struct packet* packets;
    unsigned first, end;
    int64_t free_at;  // when the link has sent all that it took
    unsigned long long taken, lost, dropped, delivered, bytes;
    int64_t most_late;
};
struct path {
    double ns_per_byte;
    int64_t delay, queue_ns;
    uint32_t loss_ppm;
    uint64_t random;
};

static volatile sig_atomic_t is_ended;
static void on_signal(int number) {
    (void)number;
    is_ended = 1;
}

static int64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

static uint32_t draw_ppm(struct path* path) {
    path->random ^= path->random << 13;
    path->random ^= path->random >> 7;
    path->random ^= path->random << 17;
    return (uint32_t)((path->random >> 20) % 1000000);
}

static int open_device(const char* netns, const char* address) {
    const int ns = open(netns, O_RDONLY | O_CLOEXEC);
    if (ns < 0 || setns(ns, CLONE_NEWNET) != 0) {
        perror(netns);
        exit(1);
    }
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq request;
    memset(&request, 0, sizeof request);
    strcpy(request.ifr_name, "wan0");
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0) {
        perror("/dev/net/tun");
        exit(1);
    }
    char command[256];
    snprintf(command, sizeof command,
             "ip address add %s/30 dev wan0 && ip link set wan0 txqueuelen 10000 mtu 1500 up",
             address);
    if (system(command) != 0) {
        exit(1);
    }
    return fd;
}

static void take(struct direction* way, struct path* path, int from, int64_t at) {
    for (int i = 0; i < BURST && way->end - way->first < PLACES; ++i) {
        struct packet* packet = &way->packets[way->end % PLACES];
        packet->length = (int)read(from, packet->bytes, PACKET_BYTES);
        if (packet->length <= 0) {
            return;
        }
        ++way->taken;
        const int64_t begin = way->free_at > at ? way->free_at : at;
        if (begin - at > path->queue_ns) {
            ++way->dropped;
            continue;
        }
        way->free_at = begin + (int64_t)((packet->length + WIRE_BYTES) * path->ns_per_byte);
        if (draw_ppm(path) < path->loss_ppm) {
            ++way->lost;
            continue;
        }
        packet->due = way->free_at + path->delay;
        ++way->end;
    }
}

// Returns when the next packet is due.
static int64_t deliver(struct direction* way, int to, int64_t none) {
    const int64_t at = now();
    while (way->first != way->end) {
        struct packet* packet = &way->packets[way->first % PLACES];
        if (packet->due > at) {
            return packet->due;
        }
        if (at - packet->due > way->most_late) {
            way->most_late = at - packet->due;
        }
        if (write(to, packet->bytes, (size_t)packet->length) == packet->length) {
            ++way->delivered;
            way->bytes += (unsigned)packet->length;
        }
        ++way->first;
    }
    return none;
}

int main(int argc, char** argv) {
    if (argc < 7) {
        fprintf(stderr, "usage: line NETNS_A NETNS_B MBIT DELAY_MS LOSS_PPM QUEUE_BYTES [SEED]\n");
        return 2;
    }
    struct path path = {.ns_per_byte = 8000.0 / atof(argv[3])};
    path.delay = (int64_t)(atof(argv[4]) * 1e6);
    path.loss_ppm = (uint32_t)atoi(argv[5]);
    path.queue_ns = (int64_t)(atof(argv[6]) * path.ns_per_byte);
    path.random = (argc > 7 ? strtoull(argv[7], NULL, 10) : 1) * UINT64_C(2654435761) + 1;
    const int fds[2] = {open_device(argv[1], "10.99.0.1"), open_device(argv[2], "10.99.0.2")};
    struct direction ways[2];
    memset(ways, 0, sizeof ways);
    for (int i = 0; i < 2; ++i) {
        ways[i].packets = malloc(sizeof(struct packet) * PLACES);
        if (ways[i].packets == NULL) {
            return 1;
        }
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    printf("ready\n");
    fflush(stdout);
    while (!is_ended) {
        int64_t next = now() + 50000000;
        for (int i = 0; i < 2; ++i) {
            take(&ways[i], &path, fds[i], now());
            const int64_t due = deliver(&ways[i], fds[1 - i], next);
            next = due < next ? due : next;
        }
        struct pollfd polls[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
        const int64_t wait = next > now() ? next - now() : 0;
        const struct timespec timeout = {wait / 1000000000, wait % 1000000000};
        ppoll(polls, 2, &timeout, NULL);
    }
    for (int i = 0; i < 2; ++i) {
        printf("%s: taken %llu lost %llu dropped %llu delivered %llu bytes %llu late_ms %.1f\n",
               i == 0 ? "A to B" : "B to A", ways[i].taken, ways[i].lost, ways[i].dropped,
               ways[i].delivered, ways[i].bytes, (double)ways[i].most_late / 1e6);
    }
    return 0;
}

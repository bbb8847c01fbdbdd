/* Keeps a daemon's sockets busy, without any right to be heard.
 *
 *   flood tcp ADDRESS NODE THREADS [CREDENTIAL]   connects to NODE's Port from THREADS threads
 * at once; each keeps 64 connections, the oldest goes for the next. With a munge credential
 * (the user's own) they greet as a daemon does and show it, so that the daemon asks munge about
 * each; without, they are silent. flood hold PATH COUNT    holds COUNT silent connections to a
 * unix socket, and makes anew what it loses
 *
 * It says "N came" each second. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_storage to;
static socklen_t to_size;
static const char* node;
static const char* credential;
static unsigned long came;

static size_t put(unsigned char* at, const void* bytes, size_t count) {
    const unsigned length = htonl((unsigned)count);
    memcpy(at, &length, 4);
    memcpy(at + 4, bytes, count);
    return count + 4;
}

static void greet(int s) {
    unsigned char body[2048], all[4096], second[2048];
    size_t n = 0;
    body[n++] = 1;
    memcpy(body + n, "SCL1\0\1\0\1", 8);
    n += 8;
    if (getrandom(body + n, 32, 0) != 32)
        return;
    n += 32;
    n += put(body + n, "x", 1);
    n += put(body + n, node, strlen(node));
    n = put(all, body, n);
    second[0] = 2;
    n += put(all + n, second, 1 + put(second + 1, credential, strlen(credential)));
    if (send(s, all, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
}

static int new_connection(int flags) {
    const struct linger reset = {1, 0};
    const struct timeval wait = {0, 100000};
    const int s = socket(to.ss_family, SOCK_STREAM | flags, 0);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (to.ss_family == AF_INET)
        setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (connect(s, (const struct sockaddr*)&to, to_size) != 0) {
        close(s);
        return -1;
    }
    __sync_fetch_and_add(&came, 1);
    return s;
}

static void* come(void* unused) {
    enum { kStay = 64 };
    int stay[kStay];
    (void)unused;
    for (int i = 0; i < kStay; ++i)
        stay[i] = -1;
    for (unsigned at = 0;; at = (at + 1) % kStay) {
        if (stay[at] >= 0)
            close(stay[at]);
        stay[at] = new_connection(0);
        if (stay[at] >= 0 && credential != NULL)
            greet(stay[at]);
    }
    return NULL;
}

static void hold(int count) {
    struct pollfd* held = calloc((size_t)count, sizeof *held);
    for (int i = 0; i < count; ++i)
        held[i].fd = -1;
    for (;;) {
        for (int i = 0; i < count; ++i) {
            if (held[i].fd >= 0)
                continue;
            held[i].fd = new_connection(SOCK_NONBLOCK);
            held[i].events = POLLIN | POLLRDHUP;
        }
        poll(held, (nfds_t)count, 10);
        for (int i = 0; i < count; ++i) {
            if (held[i].fd < 0 || held[i].revents == 0)
                continue;
            close(held[i].fd);
            held[i].fd = -1;
        }
        usleep(10000);
    }
}

static void* tell(void* unused) {
    (void)unused;
    for (;;) {
        sleep(1);
        printf("%lu came\n", came);
        fflush(stdout);
    }
    return NULL;
}

int main(int count, char** words) {
    pthread_t thread;
    if (count >= 5 && strcmp(words[1], "tcp") == 0) {
        struct sockaddr_in* in = (struct sockaddr_in*)&to;
        in->sin_family = AF_INET;
        in->sin_port = htons(6829);
        inet_pton(AF_INET, words[2], &in->sin_addr);
        to_size = sizeof *in;
        node = words[3];
        credential = count > 5 ? words[5] : NULL;
        pthread_create(&thread, NULL, tell, NULL);
        for (int i = 0; i < atoi(words[4]); ++i)
            pthread_create(&thread, NULL, come, NULL);
        pause();
    } else if (count == 4 && strcmp(words[1], "hold") == 0) {
        struct sockaddr_un* un = (struct sockaddr_un*)&to;
        un->sun_family = AF_UNIX;
        strncpy(un->sun_path, words[2], sizeof un->sun_path - 1);
        to_size = sizeof *un;
        pthread_create(&thread, NULL, tell, NULL);
        hold(atoi(words[3]));
    }
    return 64;
}

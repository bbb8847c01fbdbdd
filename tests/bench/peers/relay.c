// Measures how fast a chain of TCP connections is.  Each host hands on what it gets while it stores it.
//
//   relay PORT DEST [NEXT NEXTPORT]     receives, stores, forwards; prints "ready" when it listens
//   relay - SOURCE NEXT NEXTPORT        sends a file
//
// One buffer of 1 MiB: what is forwarded lies in the socket's buffer while the next bytes are
// received, so both directions of the link are busy. Without NEXT it is the end of a plain copy.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kBuffer = 1 << 20 };

static struct sockaddr_in address_of(const char* host, const char* port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((in_port_t)atoi(port))};
    if (host != NULL && inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        errx(2, "%s is no address", host);
    }
    return address;
}

/// Retries for 10 s: the next host's relay may start later than ours.
static int connect_to(const char* host, const char* port) {
    const struct sockaddr_in address = address_of(host, port);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(to, (const struct sockaddr*)&address, sizeof address) == 0) {
            const int on = 1;
            setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            return to;
        }
        close(to);
        usleep(10000);
    }
    err(1, "connecting to %s:%s", host, port);
}

static int listen_at(const char* port) {
    const struct sockaddr_in address = address_of(NULL, port);
    const int at = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(at, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(at, (const struct sockaddr*)&address, sizeof address) != 0 || listen(at, 1) != 0) {
        err(1, "listening at %s", port);
    }
    return at;
}

static void write_all(int to, const char* bytes, size_t length) {
    while (length > 0) {
        const ssize_t taken = write(to, bytes, length);
        if (taken < 0 && errno != EINTR) {
            err(1, "writing");
        }
        if (taken > 0) {
            bytes += taken;
            length -= (size_t)taken;
        }
    }
}

static void send_file(const char* path, int to) {
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t sent = 1;
    while (sent > 0) {
        sent = sendfile(to, from, NULL, kBuffer);
    }
    if (from < 0 || sent < 0) {
        err(1, "sending %s", path);
    }
}

static void receive(const char* port, const char* dest, int next) {
    const int at = listen_at(port);
    puts("ready");
    fflush(stdout);
    const int from = accept(at, NULL, NULL);
    const int file = open(dest, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    char* const buffer = malloc(kBuffer);
    if (from < 0 || file < 0 || buffer == NULL) {
        err(1, "%s", dest);
    }
    for (;;) {
        const ssize_t length = read(from, buffer, kBuffer);
        if (length < 0) {
            err(1, "receiving");
        }
        if (length == 0) {
            return;
        }
        if (next >= 0) {
            write_all(next, buffer, (size_t)length);
        }
        write_all(file, buffer, (size_t)length);
    }
}

int main(int count, char** words) {
    if (count != 3 && count != 5) {
        errx(2, "relay PORT|- FILE [NEXT NEXTPORT]");
    }
    const int next = count == 5 ? connect_to(words[3], words[4]) : -1;
    if (words[1][0] == '-') {
        send_file(words[2], next);
    } else {
        receive(words[1], words[2], next);
    }
    return 0;
}

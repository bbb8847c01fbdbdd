// Makes the disk or the clock of one node fail.
//
// Loaded into every process of an emulated node by its own /etc/ld.so.preload, so that the product
// needs no hook. /run/lab/fault, read once per process, has one line, either
//
//     write ERRNO LIMIT PREFIX    writing beyond LIMIT bytes of a file below PREFIX fails with ERRNO
//     read MS PREFIX              each read from a file below PREFIX takes so much longer
//     clock SECONDS PROGRAMS      the wall clock of these programs (comma separated) is off
//     unshare ERRNO               no namespace can be made
//
// Other clocks (monotonic) are untouched, as a wrong wall clock is in life.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int fail_with;
static long long limit_bytes;
static char prefix[PATH_MAX];
static long long clock_offset_s;
static long read_ms;
static int no_unshare;

static void* next(const char* name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void read_fault(void) {
    char programs[PATH_MAX];
    FILE* file = fopen("/run/lab/fault", "re");
    if (file == NULL) return;
    if (fscanf(file, "write %d %lld %4095s", &fail_with, &limit_bytes, prefix) != 3) {
        fail_with = 0;
        rewind(file);
        if (fscanf(file, "read %ld %4095s", &read_ms, prefix) != 2) {
            read_ms = 0;
            rewind(file);
        }
        if (read_ms == 0 && fscanf(file, "unshare %d", &no_unshare) != 1) {
            no_unshare = 0;
            rewind(file);
        }
        if (read_ms == 0 && no_unshare == 0 && fscanf(file, "clock %lld %4095s", &clock_offset_s, programs) == 2) {
            char wanted[PATH_MAX + 2], own[300];
            snprintf(wanted, sizeof wanted, ",%s,", programs);
            snprintf(own, sizeof own, ",%s,", program_invocation_short_name);
            if (strstr(wanted, own) == NULL) clock_offset_s = 0;
        }
    }
    fclose(file);
}

// A file being written may have lost its name already.
static int lies_below_prefix(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = '\0';
    return strncmp(path, prefix, strlen(prefix)) == 0;
}

// Does a write that ends at `end` hit the fault?
static int fails(int fd, long long end) {
    if (fail_with == 0 || end <= limit_bytes || !lies_below_prefix(fd)) return 0;
    errno = fail_with;
    return 1;
}

static long long total(const struct iovec* parts, int count) {
    long long sum = 0;
    for (int i = 0; i < count; ++i) sum += (long long)parts[i].iov_len;
    return sum;
}

static long long here(int fd) { return (long long)lseek(fd, 0, SEEK_CUR); }

int unshare(int what) {
    static int (*real)(int);
    if (real == NULL) real = next("unshare");
    if (no_unshare == 0) return real(what);
    errno = no_unshare;
    return -1;
}

ssize_t write(int fd, const void* data, size_t size) {
    static ssize_t (*real)(int, const void*, size_t);
    if (real == NULL) real = next("write");
    return fail_with != 0 && fails(fd, here(fd) + (long long)size) ? -1 : real(fd, data, size);
}

ssize_t pread64(int fd, void* data, size_t size, off64_t at) {
    static ssize_t (*real)(int, void*, size_t, off64_t);
    if (real == NULL) real = next("pread64");
    if (read_ms > 0 && lies_below_prefix(fd)) usleep((useconds_t)read_ms * 1000);
    return real(fd, data, size, at);
}
ssize_t pread(int fd, void* data, size_t size, off_t at) { return pread64(fd, data, size, at); }

ssize_t writev(int fd, const struct iovec* parts, int count) {
    static ssize_t (*real)(int, const struct iovec*, int);
    if (real == NULL) real = next("writev");
    return fail_with != 0 && fails(fd, here(fd) + total(parts, count)) ? -1 : real(fd, parts, count);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
    static ssize_t (*real)(int, const void*, size_t, off64_t);
    if (real == NULL) real = next("pwrite64");
    return fails(fd, at + (long long)size) ? -1 : real(fd, data, size, at);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

ssize_t pwritev64(int fd, const struct iovec* parts, int count, off64_t at) {
    static ssize_t (*real)(int, const struct iovec*, int, off64_t);
    if (real == NULL) real = next("pwritev64");
    return fails(fd, at + total(parts, count)) ? -1 : real(fd, parts, count, at);
}
ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t at) {
    return pwritev64(fd, parts, count, at);
}

int posix_fallocate64(int fd, off64_t at, off64_t size) {
    static int (*real)(int, off64_t, off64_t);
    if (real == NULL) real = next("posix_fallocate64");
    return fails(fd, at + size) ? fail_with : real(fd, at, size);
}
int posix_fallocate(int fd, off_t at, off_t size) { return posix_fallocate64(fd, at, size); }

int fallocate64(int fd, int mode, off64_t at, off64_t size) {
    static int (*real)(int, int, off64_t, off64_t);
    if (real == NULL) real = next("fallocate64");
    return fails(fd, at + size) ? -1 : real(fd, mode, at, size);
}
int fallocate(int fd, int mode, off_t at, off_t size) { return fallocate64(fd, mode, at, size); }

int clock_gettime(clockid_t clock, struct timespec* now) {
    static int (*real)(clockid_t, struct timespec*);
    if (real == NULL) real = next("clock_gettime");
    int rc = real(clock, now);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += clock_offset_s;
    return rc;
}

time_t time(time_t* result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval* restrict result, void* restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    result->tv_sec = now.tv_sec;
    result->tv_usec = now.tv_nsec / 1000;
    return 0;
}

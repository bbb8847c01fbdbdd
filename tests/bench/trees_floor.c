// Measures what the kernel alone takes for a receiver's files.  trees_floor tree|file DEST FILES BYTES
//
// tree: FILES files of BYTES bytes, a thousand a directory, by the calls that no copy can do
// without: openat, pwrite, utimensat, close. file: one of the same size, a megabyte a pwrite.
// No network, no digest, nothing is read.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK (1UL << 20)

static int must(int result, const char* what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
    return result;
}

static void put(int fd, const char* bytes, size_t count, size_t offset) {
    if (pwrite(fd, bytes, count, (off_t)offset) != (ssize_t)count) {
        perror("pwrite");
        exit(1);
    }
}

static int made(int directory, const char* name) {
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    return must(openat(directory, name, flags, 0644), name);
}

static void settle(int fd) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {1700000000, 1}};
    must(futimens(fd, times), "utimensat");
    close(fd);
}

static void make_tree(const char* path, const char* block, unsigned long files, size_t bytes) {
    must(mkdir(path, 0755), path);
    const int top = must(open(path, O_PATH | O_DIRECTORY), path);
    int directory = -1;
    for (unsigned long i = 0; i < files; ++i) {
        char name[32];
        if (i % 1000 == 0) {
            snprintf(name, sizeof name, "%lu", i / 1000);
            must(mkdirat(top, name, 0755), name);
            close(directory);
            directory = must(openat(top, name, O_PATH | O_DIRECTORY), name);
        }
        snprintf(name, sizeof name, "%lu", i);
        const int fd = made(directory, name);
        put(fd, block, bytes, 0);
        settle(fd);
    }
}

int main(int count, char** words) {
    if (count != 5) {
        return 2;
    }
    const unsigned long files = strtoul(words[3], NULL, 10);
    const size_t bytes = strtoul(words[4], NULL, 10);
    char* const block = malloc(BLOCK);
    if (block == NULL || bytes > BLOCK) {
        return 2;
    }
    memset(block, 7, BLOCK);
    umask(022);
    if (strcmp(words[1], "tree") == 0) {
        make_tree(words[2], block, files, bytes);
        return 0;
    }
    const int fd = made(AT_FDCWD, words[2]);
    const size_t whole = files * bytes;
    for (size_t at = 0; at < whole; at += BLOCK) {
        put(fd, block, whole - at < BLOCK ? whole - at : BLOCK, at);
    }
    settle(fd);
    return 0;
}

#!/usr/bin/env python3
"""Runs what tests/bench/page-cache prepared: a staging and a copy by turns, in a control group with little memory.

Seconds are from the start of the first process to the end of the last one, and then until the copy is on
the disk (fsync). Shares are what mincore tells, of each file's pages.
"""

import ctypes
import mmap
import os
import statistics
import subprocess
import sys
import time

import workers

HOSTS = workers.Hosts(sys.argv[1])
SOURCE, NEIGHBOUR, COPY = f"{HOSTS.work}/source", f"{HOSTS.work}/neighbour", HOSTS.copy(1)
LIMIT = int(os.environ["LIMIT"])
LIBC = ctypes.CDLL(None, use_errno=True)


class Group:
    """A memory control group, version 1 or 2, for as long as this runs."""

    def __enter__(self):
        for parent, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            self.path = f"{parent}/stagecast-bench.{os.getpid()}"
            try:
                os.mkdir(self.path)
                with open(f"{self.path}/{name}", "w") as file:
                    file.write(str(LIMIT))
                return self
            except OSError:
                if os.path.isdir(self.path):
                    os.rmdir(self.path)
        sys.exit("page-cache: no memory control group can be made here")

    def __exit__(self, *_):
        os.rmdir(self.path)

    def enter(self):
        with open(f"{self.path}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))


def share_in_memory(path):
    size = os.path.getsize(path)
    pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), size) as whole:
        place = ctypes.c_char.from_buffer(whole)
        resident = (ctypes.c_ubyte * pages)()
        if LIBC.mincore(ctypes.byref(place), ctypes.c_size_t(size), resident) != 0:
            sys.exit("page-cache: mincore")
        del place
    return sum(one & 1 for one in resident) / pages


def forget(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(group):
    """The neighbour reads its file twice, as who works with it does."""
    forget(NEIGHBOUR)
    for _ in range(2):
        subprocess.run(["cat", NEIGHBOUR], stdout=subprocess.DEVNULL, check=True, preexec_fn=group.enter)


def measure(kind, group):
    HOSTS.remove_copies()
    forget(SOURCE)
    warm(group)
    begun = time.monotonic()
    if kind == "cp":
        subprocess.run(["cp", SOURCE, COPY], check=True, preexec_fn=group.enter)
    else:
        HOSTS.run(SOURCE, "--timeout=600", before=group.enter)
    ended = time.monotonic()
    kept = {"neighbour": share_in_memory(NEIGHBOUR), "copy": share_in_memory(COPY), "source": share_in_memory(SOURCE)}
    with open(COPY, "rb") as file:
        os.fsync(file.fileno())
    return {"seconds": ended - begun, "durable": time.monotonic() - begun, **kept}


def main():
    runs = {"stagecast": [], "cp": []}
    with Group() as group:
        for _ in range(int(os.environ["REPS"])):
            for kind, done in runs.items():
                done.append(measure(kind, group))
    print(f"# A file larger than a memory limit: {os.environ['SIZE']}, of {LIMIT >> 20} MiB\n\n"
          f"{time.strftime('%Y-%m-%d')}, medians of {os.environ['REPS']}; source and receiver (or cp) in one memory control group, files "
          "on one disk. `tests/bench/page-cache` measures it again.\n\n"
          "| | done, s | on the disk, s | in memory afterwards: a neighbour's file | the copy | the source |\n|---|---|---|---|---|---|")
    for kind, values in runs.items():
        middle = {key: statistics.median(run[key] for run in values) for key in values[0]}
        print(f"| {kind} | {middle['seconds']:.1f} | {middle['durable']:.1f} | {middle['neighbour']:.0%} | {middle['copy']:.0%} "
              f"| {middle['source']:.0%} |")


main()

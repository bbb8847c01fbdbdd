"""Keeps the cost of a run's memory the same in each.

A virtual machine may give pages that are free for a second back to its host, and takes them again one fault at a
time, several times slower than copying to them; then a slower run, or one that began later, pays for being slow. So
a process of its own holds memory that it has touched, and lets it go no faster than the run takes it.
"""

import contextlib
import mmap
import os
import signal
import sys
import time

MADV_POPULATE_WRITE = 23  # The kernel's; Python 3.11 has no name for it.
STEP = 64 << 20
READY = 8 * STEP  # This much lies free, just touched, for who takes it.


def free_bytes():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemFree:"))


def touched(size):
    """In huge pages, so that giving it back takes little of the cores' time."""
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    memory.madvise(MADV_POPULATE_WRITE)
    return memory


def hold(size, ready):
    """Touches it, gives READY bytes of it back, says so by a byte, and gives the rest as others take it."""
    held = [touched(STEP) for _ in range(0, size + READY, STEP)]
    enough = free_bytes() + READY
    while held and free_bytes() < enough:
        held.pop().close()
    os.write(ready, b".")
    while held:
        if free_bytes() < enough:
            held.pop().close()
        else:
            time.sleep(0.005)


@contextlib.contextmanager
def warm_memory(size):
    """`size` bytes for what runs inside. Its holder's CPU time counts for the caller only afterwards."""
    ready, says = os.pipe()
    holder = os.fork()
    if holder == 0:
        with contextlib.suppress(BaseException):
            hold(size, says)
        os._exit(0)
    os.close(says)
    try:
        if not os.read(ready, 1):
            sys.exit(f"bench: there are no {size >> 20} MiB of memory to touch")
        yield
    finally:
        os.close(ready)
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)

#!/usr/bin/python3
"""Reports what a user can read of the process PID.  Says "ptrace: yes" or "ptrace no: why", and so on."""

import ctypes
import os
import sys

PTRACE_ATTACH, PTRACE_DETACH = 16, 17
pid = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def attempt(what, action):
    try:
        action()
        print(f"{what}: yes")
    except OSError as error:
        print(f"{what} no: {error.strerror}")


def attach():
    if libc.ptrace(PTRACE_ATTACH, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.waitpid(pid, 0x40000000)  # __WALL
    libc.ptrace(PTRACE_DETACH, pid, None, None)


def take_descriptor():
    held = os.pidfd_open(pid)
    taken = libc.syscall(438, held, 3, 0)  # pidfd_getfd: its control socket
    os.close(held)
    if taken < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.close(taken)


attempt("ptrace", attach)
attempt("mem", lambda: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR)))
attempt("environ", lambda: open(f"/proc/{pid}/environ", "rb").read())
attempt("descriptors", lambda: os.listdir(f"/proc/{pid}/fd"))
attempt("control socket", take_descriptor)

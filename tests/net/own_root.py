#!/usr/bin/env python3
"""own_root.py DIRECTORY COMMAND...: runs COMMAND in this mount namespace, which is a new one.

All mounts become private. In a chroot its "/" becomes the namespace's root first (pivot_root):
otherwise the kernel makes no user namespaces, and Slurm's job_container/tmpfs leaves the chroot.
DIRECTORY: an empty one, used for a moment.
"""

import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH, CLONE_NEWNS = 0x1000, 0x4000, 0x40000, 2, 0x20000
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}[os.uname().machine]


def must(what, result):
    if result != 0:
        code = ctypes.get_errno()
        sys.exit(f"own_root.py: {what}: {os.strerror(code)}")


def mount(source, target, flags):
    must(f"mounting {target.decode()}", LIBC.mount(source, target, None, flags, None))


def to_namespace_root():
    """A process that enters a namespace gets its root, whatever its root was before."""
    namespace = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    must("entering the namespace", LIBC.setns(namespace, CLONE_NEWNS))
    os.close(namespace)


def main():
    directory, command = sys.argv[1], sys.argv[2:]
    here = os.getcwd()
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    to_namespace_root()
    mount(None, b"/", MS_REC | MS_PRIVATE)
    if not os.path.samestat(os.fstat(root), os.stat("/")):
        os.fchdir(root)
        os.chroot(".")
        mount(b"/", os.fsencode(directory), MS_BIND | MS_REC)
        new_root = os.open(directory, os.O_PATH | os.O_DIRECTORY)
        to_namespace_root()
        os.fchdir(new_root)
        must("pivot_root", LIBC.syscall(SYS_PIVOT_ROOT, b".", b"."))
        must("unmounting", LIBC.umount2(b".", MNT_DETACH))
    os.chdir("/")
    os.chdir(here)
    os.execvp(command[0], command)


main()

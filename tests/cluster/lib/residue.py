#!/usr/bin/python3 -IS
"""Prints everything that staging could have left on this node, in a form that two moments can be compared by.

One process: with a dozen nodes and a look after each test, programs started for it were most of a test's time.
"""

import collections
import os
import pwd
import re


def lines_of(path):
    try:
        with open(path) as file:
            return file.read().splitlines()
    except OSError:  # A process that has ended.
        return []


def groups():
    """The groups joined on any interface, and the UDP sockets."""
    for line in lines_of("/proc/net/igmp")[1:]:
        words = line.split()
        if len(words) >= 4 and re.fullmatch("[0-9A-F]{8}", words[0]):
            yield f"group {words[0]}"
        elif len(words) > 1 and words[1] == "eth0":
            yield "interface eth0"
    for family in ("udp", "udp6"):
        for line in lines_of(f"/proc/net/{family}")[1:]:
            yield f"udp {line.split()[1]}"


def processes():
    """Name and user of each process, by number."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        name = lines_of(f"/proc/{number}/comm")
        try:
            if name:
                yield number, name[0], os.stat(f"/proc/{number}").st_uid
        except OSError:
            continue


def ours():
    """Our processes, counted by user and name (spares belong, workers do not), and what the daemon holds open:
    files by name, as sockets, pipes and counters vary."""
    count = collections.Counter()
    for number, name, uid in processes():
        if name.startswith("stagecast"):
            count[pwd.getpwuid(uid).pw_name, name] += 1
        if name == "stagecastd":
            for file in open_files(f"/proc/{number}/fd"):
                yield f"open {file}"
    for (user, name), times in count.items():
        yield f"process {user} {name} {times}"


def open_files(directory):
    try:
        names = [os.readlink(f"{directory}/{one}") for one in os.listdir(directory)]
    except OSError:
        return []
    return [name for name in names if name.startswith("/") and name != "/dev/null"
            and not name.startswith(("/var/log/", "/proc/"))]


def below(top, depth=100, device=None):
    """The paths of everything below a directory, on its own file system if `device` is given."""
    try:
        entries = list(os.scandir(top))
    except OSError:
        return
    for entry in entries:
        yield entry.path
        try:
            if depth > 1 and entry.is_dir(follow_symlinks=False) and \
                    device in (None, entry.stat(follow_symlinks=False).st_dev):
                yield from below(entry.path, depth - 1, device)
        except OSError:
            continue


def files():
    """Job directories, verdicts, temporary names anywhere a destination may be, PMIx' own."""
    for path in below("/var/spool/stagecast"):
        # A spare host has a directory with a number of its own.
        yield "staged " + re.sub(r"[.]host[.][0-9]+", ".host.N", path)
    for path in below("/run/stagecast/jobs"):
        yield f"marker {path}"
    for top in ("/home", "/tmp", "/var/tmp"):
        for path in below(top, device=os.stat(top).st_dev):
            if re.fullmatch(r"\..*\.stagecast\..*", os.path.basename(path)):
                yield f"temporary {path}"
    for top in ("/tmp", "/var/tmp", "/dev/shm"):
        for path in below(top, depth=1):
            if not os.path.basename(path).startswith("ompi."):
                yield f"local {path}"


def mounts():
    """What other programs of this machine mounted below /run comes and goes in our copies too."""
    for line in lines_of("/proc/self/mountinfo"):
        place = line.split()[4]
        if not place.startswith("/run/netns"):
            yield f"mount {place}"


for part in (groups, ours, files, mounts):
    print("\n".join(sorted(part())))

#!/usr/bin/env python3
"""The processes of tests/bench/floor: `send` and `take` are one each on a host, `all` starts them and adds up."""

import mmap
import os
import resource
import select
import socket
import statistics
import struct
import subprocess
import sys
import time

GROUP, PORT = "239.1.2.3", 5999
UDP_SEGMENT, UDP_GRO, SO_RCVBUFFORCE = 103, 104, 33
TRAIN_MAX = 65000
NODES, REPS = int(os.environ["NODES"]), int(os.environ["REPS"])


def membership():
    return struct.pack("=4s4si", socket.inet_aton(GROUP), bytes(4), socket.if_nametoindex("eth0"))


def send(path):
    packet = int(os.environ["MTU"]) - 28
    train = TRAIN_MAX // packet * packet
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, membership())
    out.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, packet)
    out.connect((GROUP, PORT))
    room, sent, begun = memoryview(bytearray(16 * train)), 0, time.monotonic()
    with open(path, "rb", buffering=0) as source:
        while got := source.readinto(room):
            for at in range(0, got, train):
                while sent > float(os.environ["MBYTES"]) * 1e6 * (time.monotonic() - begun):
                    time.sleep(1e-4)
                sent += out.send(room[at:min(at + train, got)])
    return sent


def take(path):
    inbox = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inbox.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 12 << 20)
    inbox.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    inbox.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership())
    inbox.bind((GROUP, PORT))
    print("here", flush=True)
    room, taken = memoryview(bytearray(1 << 16)), 0
    copy = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    while select.select([inbox], [], [], 2)[0]:
        got = inbox.recv_into(room)
        taken += os.pwrite(copy, room[:got], taken)
    return taken


def start(work, rank, *what):
    pid = open(f"{work}/pids").read().split()[rank]
    return subprocess.Popen(["nsenter", f"--target={pid}", "--net", sys.executable, __file__, *what],
                            stdout=subprocess.PIPE, text=True)


def group(work):
    """Seconds of the source, of the receivers for all bytes, and how much of these did not come."""
    size = os.path.getsize(f"{work}/source")
    takers = [start(work, rank, "take", f"{work}/copy.{rank}") for rank in range(1, NODES + 1)]
    for taker in takers:
        taker.stdout.readline()
    said = [one.communicate()[0].split() for one in [start(work, 0, "send", f"{work}/source"), *takers]]
    came = sum(int(line[0]) for line in said[1:])
    spent = sum(float(line[1]) for line in said[1:])
    return float(said[0][1]), spent * size * NODES / came, 100 - 100 * came / size / NODES


def copies(work):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = [subprocess.Popen(["cp", f"{work}/source", f"{work}/copy.{rank}"]) for rank in range(1, NODES + 1)]
    if any([one.wait() for one in running]):
        sys.exit("floor: cp failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fresh(work):
    for rank in range(1, NODES + 1):
        if os.path.exists(f"{work}/copy.{rank}"):
            os.unlink(f"{work}/copy.{rank}")
    everywhere = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    mmap.mmap(-1, os.path.getsize(f"{work}/source") * (NODES + 1), everywhere).close()


def compare(work):
    groups, bare = [], []
    for _ in range(REPS):
        fresh(work)
        groups.append(group(work))
        fresh(work)
        bare.append(copies(work))
    source, receivers, lost = (statistics.median(values) for values in zip(*groups))
    print(f"{NODES} receivers of {os.environ['SIZE']}, CPU seconds, medians of {REPS}: source {source:.2f}, "
          f"receivers {receivers:.2f} ({lost:.0f} % did not come), cp {statistics.median(bare):.2f}; "
          f"load {os.getloadavg()[0]:.0f}")


if sys.argv[1] == "all":
    compare(sys.argv[2])
else:
    begun = time.process_time()
    moved = {"send": send, "take": take}[sys.argv[1]](sys.argv[2])
    print(moved, f"{time.process_time() - begun:.3f}")

#!/usr/bin/env python3
"""Speaks nonsense to a daemon's TCP port: tcp_garbage.py ADDRESS PORT garbage|silence|flood|munge"""
import random
import socket
import struct
import subprocess
import sys
import time

address, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
draw = random.Random(3)


def connection():
    return socket.create_connection((address, port), timeout=3)


def say(body):
    try:
        with connection() as peer:
            peer.sendall(body)
            peer.settimeout(1)
            peer.recv(4096)
    except OSError:
        pass


if how == "garbage":
    for size in [1, 3, 4, 5, 16, 100, 5000, 100000]:
        say(draw.randbytes(size))
    for claimed in [0, 1, 100, 65535, 1 << 24, 0xFFFFFFFF]:
        say(struct.pack(">I", claimed) + draw.randbytes(min(claimed, 200)))
elif how == "silence":
    peers = [connection() for _ in range(5)]
    time.sleep(20)
elif how == "flood":
    peers = []
    for _ in range(1000):
        try:
            peers.append(connection())
        except OSError:
            break
    time.sleep(5)
else:  # a real credential, but not root's
    credential = subprocess.run(["munge", "-n"], capture_output=True).stdout
    for body in (credential, struct.pack(">I", len(credential)) + credential,
                 struct.pack(">I", len(credential) + 2) + b"\x01\x01" + credential):
        say(body)
print("done")

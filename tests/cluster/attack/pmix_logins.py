#!/usr/bin/env python3
"""Knocks at every loopback listener of stagecast's PMIx hosts, for some seconds.

Three logins that are no logins and one connection that says nothing, at each port that comes up.
Ports are read from /proc/net/tcp, as any user can.
"""
import random
import socket
import struct
import time

draw = random.Random(5)
known, silent = set(), []


def listeners():
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            fields = line.split()
            address, port = fields[1].split(":")
            if fields[3] == "0A" and address == "0100007F":
                yield int(port, 16)


until = time.monotonic() + 15
knocks = 0
while time.monotonic() < until:
    for port in set(listeners()) - known:
        known.add(port)
        for body in (draw.randbytes(64), struct.pack(">iiI", -2, 0, 40) + draw.randbytes(40),
                     struct.pack("<iiQ", -2, 0, 1 << 40)):
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=1) as peer:
                    peer.sendall(body)
                    knocks += 1
            except OSError:
                pass
        try:
            silent.append(socket.create_connection(("127.0.0.1", port), timeout=1))
        except OSError:
            pass
    time.sleep(0.02)
print("knocks", knocks, "at", len(known), "ports;", len(silent), "silent")

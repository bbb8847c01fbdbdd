#!/usr/bin/env python3
"""One file over one TCP connection, the peer of a push:  copy.py serve PORT FILE | send HOST PORT CONTROL FILE

The server writes the file and answers its last byte; the sender prints the seconds from the call of
connect() to that answer.

A flow without an end, beside which others are measured:  copy.py count PORT | flow HOST PORT CONTROL

The counter prints how many bytes have come whenever it reads a line.
"""

import select
import socket
import struct
import sys
import time

BUFFER = 64 << 20
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33  # Python does not name them.


def tcp(control=None):
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    for option in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
        one.setsockopt(socket.SOL_SOCKET, option, BUFFER)
    if control:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    return one


def accept(port):
    listener = tcp()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", int(port)))
    listener.listen()
    print("ready", flush=True)
    return listener.accept()[0]


def serve(port, path):
    with accept(port) as link, open(path, "wb") as out:
        left = struct.unpack("!Q", link.recv(8, socket.MSG_WAITALL))[0]
        while left:
            piece = link.recv(1 << 20)
            if not piece:
                sys.exit("copy.py: the sender ended")
            out.write(piece)
            left -= len(piece)
        out.flush()
        link.sendall(b"1")


def send(host, port, control, path):
    with open(path, "rb") as source:
        content = source.read()
    begun = time.monotonic()
    with tcp(control) as link:
        link.connect((host, int(port)))
        link.sendall(struct.pack("!Q", len(content)))
        link.sendall(content)
        if link.recv(1) != b"1":
            sys.exit("copy.py: no answer")
    print(f"{time.monotonic() - begun:.4f}")


def count(port):
    total = 0
    with accept(port) as link:
        while True:
            ready = select.select([link, sys.stdin], [], [])[0]
            if link in ready:
                piece = link.recv(1 << 20)
                if not piece:
                    return
                total += len(piece)
            if sys.stdin in ready:
                if not sys.stdin.readline():
                    return
                print(total, flush=True)


def flow(host, port, control):
    zeros = bytes(1 << 20)
    with tcp(control) as link:
        link.connect((host, int(port)))
        print("ready", flush=True)
        while True:
            link.sendall(zeros)


if __name__ == "__main__":
    {"serve": serve, "send": send, "count": count, "flow": flow}[sys.argv[1]](*sys.argv[2:])

#!/usr/bin/env python3
"""Measures what a TCP flow gets beside the broadcast: one that always has something to send, under CUBIC.

  flow.py send ADDRESS PORT SECONDS       sends for SECONDS, then resets; a line: when it began, when it ended
  flow.py receive PORT                    takes one flow to its end; a line each 50 ms, as below
  flow.py watch SECONDS                   such lines without a flow

A line: when, the flow's bytes since the last, the bytes of eth0 since then. Whatever the system's default is, the sender is
the kernel's CUBIC.
"""

import socket
import struct
import sys
import time

BIN = 0.05
PIECE = 1 << 18


def link_bytes():
    with open("/proc/net/dev") as file:
        return next(int(line.split(":")[1].split()[0]) for line in file if line.strip().startswith("eth0:"))


class Record:
    def __init__(self):
        self.until, self.flow, self.link = time.time() + BIN, 0, link_bytes()

    def add(self, count, is_last=False):
        self.flow += count
        if time.time() < self.until and not is_last:
            return
        link = link_bytes()
        print(f"{time.time():.3f} {self.flow} {link - self.link}", flush=True)
        self.until, self.flow, self.link = time.time() + BIN, 0, link


def receive(port):
    listener = socket.create_server(("", int(port)))
    print("listening", flush=True)
    flow, _ = listener.accept()
    record, room, got = Record(), bytearray(PIECE), None
    while got != 0:
        flow.settimeout(max(record.until - time.time(), 0.001))
        try:
            got = flow.recv_into(room)
        except TimeoutError:
            got = None
        except ConnectionResetError:
            got = 0
        record.add(got or 0, got == 0)


def watch(seconds):
    record, until = Record(), time.time() + float(seconds)
    while time.time() < until:
        time.sleep(max(record.until - time.time(), 0.001))
        record.add(0)


def send(address, port, seconds):
    flow = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    flow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    flow.settimeout(1)
    flow.connect((address, int(port)))
    began, zeros = time.time(), bytes(PIECE)
    while time.time() < began + float(seconds):
        try:
            flow.send(zeros)
        except TimeoutError:
            pass  # nothing was acknowledged for so long: it goes on
    flow.close()
    print(f"{began:.3f} {time.time():.3f}", flush=True)


if __name__ == "__main__":
    {"send": send, "receive": receive, "watch": watch}[sys.argv[1]](*sys.argv[2:])

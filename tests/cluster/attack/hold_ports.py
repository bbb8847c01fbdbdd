#!/usr/bin/env python3
"""Binds the UDP and TCP ports FIRST-LAST in each way that there is, says how many sockets it got, and keeps them."""

import socket
import sys
import time

held = []
first, last = (int(port) for port in sys.argv[1].split("-"))
kinds = sys.argv[2:] or ["UDP", "TCP"]
for port in range(first, last + 1):
    for kind in kinds:
        for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "UDP" else socket.SOCK_STREAM)
            if option is not None:
                one.setsockopt(socket.SOL_SOCKET, option, 1)
            try:
                one.bind(("0.0.0.0", port))
            except OSError:
                continue
            if option is not None:
                one.setsockopt(socket.SOL_SOCKET, option, 0)
            held.append(one)
print(len(held), flush=True)
time.sleep(600)

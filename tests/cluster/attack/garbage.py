#!/usr/bin/env python3
"""Sends datagrams that mean nothing, and some that nearly do: garbage.py ADDRESS PORT COUNT"""
import random
import socket
import sys
import time

address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(1)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
for number in range(count):
    size = draw.choice([0, 1, 11, 12, 16, 27, 28, 29, 40, 100, 576, 1400, 1472])
    body = bytearray(draw.randbytes(size))
    if size and number % 2:
        body[0] = draw.randrange(0, 64)  # near the version and type of real packets
    try:
        sender.sendto(body, (address, port))
    except OSError:
        pass
    if number % 50 == 0:
        time.sleep(0.01)
print("sent", count)

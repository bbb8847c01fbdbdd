#!/usr/bin/env python3
"""Sends captured UDP datagrams again, whole, bent and cut: replay.py FILE.pcap [shift]

To where they went first, from this host's own address; with "shift" to the ports beside it, too.
"""
import random
import socket
import struct
import sys

data = open(sys.argv[1], "rb").read()
draw = random.Random(2)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sent = 0
at = 24
while at + 16 <= len(data):
    (length,) = struct.unpack("<I", data[at + 8:at + 12])
    frame = data[at + 16:at + 16 + length]
    at += 16 + length
    if len(frame) < 42 or frame[12:14] != b"\x08\x00" or frame[23] != 17:
        continue
    header = (frame[14] & 15) * 4
    if struct.unpack(">H", frame[20:22])[0] & 0x1FFF:
        continue
    target = socket.inet_ntoa(frame[30:34])
    port = struct.unpack(">H", frame[14 + header + 2:14 + header + 4])[0]
    payload = bytearray(frame[14 + header + 8:])
    bent = bytearray(payload)
    if bent:
        bent[draw.randrange(len(bent))] ^= 1 << draw.randrange(8)
    for body in (payload, bent, payload[:draw.randrange(len(payload) + 1)]):
        for beside in (-1, 0, 1) if sys.argv[2:] else (0,):
            try:
                sender.sendto(body, (target, port + beside))
                sent += 1
            except OSError:
                pass
    if sent > 6000:
        break
print("replayed", sent)

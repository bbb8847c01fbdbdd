#!/usr/bin/env python3
"""Asks the daemon's unix socket for things that only root may: socket_garbage.py PATH

Frames are a 32-bit length and a message: version, type, body. "nothing taken" at the end: no answer
promised anything. Type 0-15 with empty and random bodies, wrong lengths, halves.
"""
import random
import socket
import struct
import sys

draw = random.Random(4)


def ask(body, framed=True):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(2)
    try:
        peer.connect(sys.argv[1])
        peer.sendall((struct.pack(">I", len(body)) if framed else b"") + body)
        answer = peer.recv(65536)
    except PermissionError:
        print("no permission to connect")
        return b""
    except OSError as error:
        print("closed:", error)
        return b""
    finally:
        peer.close()
    print("answer", answer[:80])
    return answer


taken = False
for version in (0, 1, 2, 255):
    for kind in range(16):
        for body in (b"", draw.randbytes(40), draw.randbytes(3000)):
            answer = ask(bytes([version, kind]) + body)
            taken |= b"/var/spool/stagecast" in answer
ask(b"", framed=False)
ask(struct.pack(">I", 0xFFFFFFFF), framed=False)
ask(struct.pack(">I", 100) + b"half", framed=False)
print("taken" if taken else "nothing taken")

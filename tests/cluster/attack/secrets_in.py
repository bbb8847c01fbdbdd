#!/usr/bin/env python3
"""Finds secrets that a daemon sent its worker in packets of a link. secrets_in.py STRACE CAPTURE...

STRACE is of stagecastd's writes (strace -f -yy -xx). What goes to unix sockets of long messages holds
the group's key; every 8 bytes of it that look random must be in no capture. Exits 1 if some are, 2 if
there was nothing to look for.
"""
import re
import sys

windows = set()
for line in open(sys.argv[1], errors="replace"):
    if "UNIX" not in line:
        continue
    for text in re.findall(r'"((?:\\x[0-9a-f]{2})+)"', line):
        message = bytes.fromhex(text.replace("\\x", ""))
        if len(message) < 100:
            continue
        # To munge's helper go a secret and then two nonces that travel openly; several at a time, if it is busy.
        parts = message.split(b"SCC1")
        message = parts[0] + b"".join(bytes(4) + part[:37] + bytes(8) + part[101:] for part in parts[1:])
        for at in range(len(message) - 7):
            part = message[at:at + 8]
            printable = sum(32 <= byte < 127 for byte in part)
            if len(set(part)) >= 7 and part.count(0) == 0 and printable <= 6:
                windows.add(part)
if len(windows) < 20:
    print("no message to a worker seen: nothing was looked for")
    sys.exit(2)
for path in sys.argv[2:]:
    capture = open(path, "rb").read()
    for part in windows:
        if part in capture:
            sys.exit(f"{path} holds {part.hex()}, which a daemon gave its worker")
print(len(windows), "windows looked for")

#!/usr/bin/env python3
"""Looks for bytes of a secret in a capture. holds.py SECRET-FILE CAPTURE LENGTH

Looks for the secret's first, middle and last 8 bytes and, in hexadecimal, 16 digits of each. LENGTH is how
many places to look for, spread over the secret. Exits 1 if one is found.
"""
import sys

secret = open(sys.argv[1], "rb").read()
capture = open(sys.argv[2], "rb").read()
places = int(sys.argv[3])
width = 8
assert len(secret) >= width, "the secret is too short to look for"
step = max(1, (len(secret) - width) // max(1, places - 1))
for at in range(0, len(secret) - width + 1, step):
    part = secret[at:at + width]
    for form in (part, part.hex().encode(), part.hex().upper().encode()):
        if form in capture:
            sys.exit(f"{sys.argv[2]}: holds bytes {at}..{at + width} of {sys.argv[1]}")

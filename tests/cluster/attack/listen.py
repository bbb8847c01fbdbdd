#!/usr/bin/env python3
"""Any local user may join a group and read what comes: listen.py GROUP PORT PREFIX [FILE]

Joins on the interface whose address begins with PREFIX; says "joined", then "datagram SIZE" once per
datagram, and appends the datagrams to FILE, each behind its length (4 bytes, big endian).
"""
import re
import socket
import struct
import subprocess
import sys

group, port, prefix = sys.argv[1], int(sys.argv[2]), sys.argv[3]
log = open(sys.argv[4], "wb") if len(sys.argv) > 4 else None
addresses = re.findall(r"inet ([\d.]+)", subprocess.check_output(["ip", "-4", "addr"], text=True))
own = next(address for address in addresses if address.startswith(prefix))

heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
heard.bind((group, port))
heard.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                 socket.inet_aton(group) + socket.inet_aton(own))
heard.settimeout(3)
print("joined", flush=True)
try:
    while True:
        datagram = heard.recv(65536)
        print("datagram", len(datagram), flush=True)
        if log:
            log.write(struct.pack(">I", len(datagram)) + datagram)
            log.flush()
except socket.timeout:
    pass

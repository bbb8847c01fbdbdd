#!/usr/bin/env python3
"""Sends descriptors that block the process that closes them to the daemon's control socket.

    descriptors.py SOCKET SECONDS

Each is a TCP connection of this process to itself, with unsent data and SO_LINGER: the process that
closes its last descriptor waits SECONDS, unless it is ending. They lie beside a request, beside an
urgent byte, behind the beginning of a request, and in a connection beyond those that one user may have.
"""
import array
import socket
import struct
import sys
import time

CONNECTIONS_OF_A_USER = 16


def lingering(seconds):
    listener = socket.create_server(('127.0.0.1', 0))
    sending = socket.create_connection(listener.getsockname())
    silent, _ = listener.accept()
    sending.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, seconds))
    sending.setblocking(False)
    try:
        while True:
            sending.send(bytes(65536))
    except BlockingIOError:
        return sending, silent


def connected(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(path)
    return client


def main():
    path, seconds = sys.argv[1], int(sys.argv[2])
    kept = []

    def send(client, text, flags=0):
        sending, silent = lingering(seconds)
        kept.append(silent)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [sending.fileno()]))]
        client.sendmsg([text], rights, flags)
        sending.close()
        client.close()

    send(connected(path), b'\0\0')
    send(connected(path), b'x', socket.MSG_OOB)
    late = connected(path)
    late.send(b'\0\0')
    time.sleep(0.5)
    send(late, b'\0\1x')
    kept += [connected(path) for _ in range(CONNECTIONS_OF_A_USER)]
    send(connected(path), b'\0\0')
    print('sent', flush=True)
    time.sleep(seconds)


main()

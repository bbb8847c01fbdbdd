#!/usr/bin/env python3
"""Sends descriptors that block the process that closes them to the daemon's control socket.

    descriptors.py SOCKET SECONDS

Each is a TCP connection of this process to itself, with unsent data and SO_LINGER: the process that
closes its last descriptor waits SECONDS, unless it is ending. They lie beside a request, beside an
urgent byte, behind the beginning of a request, and in a connection beyond those that one user may have.
"""
import array
import os
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


def send(seconds, client_of, text, flags=0):
    """Sends one of a process that then ends, which never lingers; another one keeps its peer."""
    child = os.fork()
    if child > 0:
        return os.waitpid(child, 0)[1] == 0
    sending, silent = lingering(seconds)
    ready, is_ready = os.pipe()
    if os.fork() == 0:
        sending.close()
        os.close(ready)
        os.close(is_ready)
        time.sleep(seconds)
        os._exit(0)
    os.close(is_ready)
    os.read(ready, 1)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [sending.fileno()]))]
    try:
        client_of().sendmsg([text], rights, flags)
    except BrokenPipeError:  # It was refused before.
        os._exit(1)
    os._exit(0)


def main():
    path, seconds = sys.argv[1], int(sys.argv[2])

    def fresh():
        return connected(path)

    send(seconds, fresh, b'\0\0')
    send(seconds, fresh, b'x', socket.MSG_OOB)
    late = connected(path)
    late.send(b'\0\0')
    time.sleep(0.5)
    send(seconds, lambda: late, b'\0\1x')
    late.close()
    kept = [connected(path) for _ in range(CONNECTIONS_OF_A_USER)]
    while not send(seconds, fresh, b'\0\0'):
        pass
    print('sent', len(kept), flush=True)
    time.sleep(seconds)


main()

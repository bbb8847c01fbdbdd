#!/usr/bin/env python3
"""Starts one stagecast-worker and plays its part of the launcher: member.py --hosts=FILE --rank=K --key-file=FILE WORKER ARGS...

For tests that start each member by hand, on a host of its own. The members' cards meet at rank 0, the first line
of the file of addresses, on TCP port 6830 (--port=); no key crosses the network. The worker's other output and its
exit code are this program's. A group that does not meet within the worker's time-out gets no cards.

A test that starts all members itself has the launcher's lines from here.
"""

import os
import socket
import subprocess
import sys
import time

KEY, CARD, TABLE = "stagecast-key ", "stagecast-card ", "stagecast-table "


def key_line(key=None):
    return f"{KEY}{(key or os.urandom(32)).hex()}\n"


def table_line(cards):
    """`cards`: in hexadecimal, by rank. Each gets its rank: the two bytes behind the first."""
    encoded = [card[:1] + rank.to_bytes(2, "big") + card[3:] for rank, card in enumerate(map(bytes.fromhex, cards))]
    table = len(cards).to_bytes(4, "big") + b"".join(len(card).to_bytes(4, "big") + card for card in encoded)
    return f"{TABLE}{table.hex()}\n"


def card_in(text):
    """The card in what a member has printed so far, or nothing."""
    return next((line[len(CARD):] for line in text.splitlines() if line.startswith(CARD)), None)


def first_card(worker):
    """Other lines pass; nothing if it ends without a card."""
    for line in worker.stdout:
        if card := card_in(line):
            return card
        if line.strip():
            print(line, end="", flush=True)
    return None


def say(worker, text):
    try:
        worker.stdin.write(text)
        worker.stdin.flush()
    except OSError:
        pass  # It has ended; its exit code says why.


def gather(hosts, port, own, until):
    """Rank 0: every member's card for a table of all. A member that starts again replaces its earlier card."""
    cards, peers = {0: own}, {}
    with socket.create_server((hosts[0], port)) as server:
        while len(cards) < len(hosts):
            server.settimeout(max(until - time.monotonic(), 0.01))
            peer = server.accept()[0]
            peer.settimeout(5)
            words = peer.makefile().readline().split()
            if len(words) == 2:
                cards[int(words[0])], peers[int(words[0])] = words[1], peer
    table = table_line([cards[rank] for rank in range(len(hosts))])
    for peer in peers.values():
        try:
            peer.sendall(table.encode())
        except OSError:
            pass  # It has ended; the others will notice.
    return table


def join(hosts, port, rank, own, until):
    """Another rank: from rank 0, as soon as that has started."""
    while time.monotonic() < until:
        try:
            with socket.create_connection((hosts[0], port), timeout=2) as peer:
                peer.sendall(f"{rank} {own}\n".encode())
                peer.settimeout(max(until - time.monotonic(), 0.01))
                if table := peer.makefile().readline():
                    return table
        except OSError:
            pass
        time.sleep(0.1)
    raise TimeoutError


def meet(options, hosts, own, seconds):
    until, rank, port = time.monotonic() + seconds, int(options["rank"]), int(options.get("port", 6830))
    try:
        return gather(hosts, port, own, until) if rank == 0 else join(hosts, port, rank, own, until)
    except OSError:
        print("member: the others did not start in time", file=sys.stderr)
        return None


def main(words):
    options = {}
    while words[0].startswith("--"):
        name, value = words.pop(0)[2:].split("=", 1)
        options[name] = value
    with open(options["hosts"]) as file:
        hosts = file.read().split()
    with open(options["key-file"], "rb") as file:
        key = file.read(32)
    limits = dict(word[2:].split("=", 1) for word in words if "timeout=" in word)
    worker = subprocess.Popen([*words, f"--members={len(hosts)}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              errors="replace", env={**os.environ, "MEMBER_RANK": options["rank"]})
    say(worker, key_line(key))
    if own := first_card(worker):
        table = meet(options, hosts, own, float(limits.get("connect-timeout", limits.get("timeout", 60))))
        if table:
            say(worker, table)
    try:
        worker.stdin.close()
    except OSError:
        pass
    for line in worker.stdout:
        print(line, end="", flush=True)
    status = worker.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

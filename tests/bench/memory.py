#!/usr/bin/env python3
"""Runs a cell that tests/bench/memory prepared, and prints its line of the page.

Own memory is what the process shares with no file (RssAnon at its end, when every buffer that was ever
used is still held); sockets, the most that the kernel was seen to hold for both of them. The most of
any receiver, by its own sum.
"""

import os
import sys
import time

HEAD = """# What a member holds for itself

{date}, {cores} cores, the engine alone, no configured rate, default protection, the largest of {reps} runs. `tests/bench/memory` measures it again.
The file's own pages are not in it. MiB (2^20 bytes):

| receivers | file | loss | receiver: own + sockets | source: own + sockets | seconds |
|---|---|---|---|---|---|"""


def parts(line):
    return line["memory_own"] / 2**20, line["memory_sockets"] / 2**20


def cell_of(lines):
    own, sockets = max((parts(line) for line in lines), key=sum)
    return f"{own:.1f} + {sockets:.1f} = {own + sockets:.1f}"


def main():
    if sys.argv[1] == "--head":
        print(HEAD.format(date=time.strftime("%Y-%m-%d"), cores=os.cpu_count(), reps=os.environ["REPS"]))
        return
    import workers
    hosts = workers.Hosts(sys.argv[1])
    runs = []
    for _ in range(int(os.environ["REPS"])):
        hosts.remove_copies()
        runs.append(hosts.run(f"{hosts.work}/source", "--timeout=900"))
    receivers, size, loss = os.environ["CELL"].split(":")
    took = " ".join(f"{workers.seconds(said):.1f}" for said in runs)
    print(f"| {receivers} | {size} | {loss} | {cell_of([line for said in runs for line in said[1:]])} "
          f"| {cell_of([said[0] for said in runs])} | {took} |", flush=True)


main()

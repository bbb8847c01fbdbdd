#!/usr/bin/env python3
"""Runs what tests/bench/trees prepared: a tree and one file of the same size, by turns.

A group's time is from the moment the last member was wired up to the moment the last receiver held
all of it, as the workers say; CPU is what all processes of the group used. The ratio is of pairs,
so that other work on the machine weighs on both.
"""

import os
import statistics
import sys
import time

import workers
from workers import NODES

HOSTS = workers.Hosts(sys.argv[1])
WORK = HOSTS.work
FILES, BYTES = (int(os.environ[name]) for name in ("FILES", "BYTES"))


def make_sources():
    with open(f"{WORK}/file", "wb") as whole:
        for i in range(FILES):
            part = os.urandom(BYTES)
            whole.write(part)
            directory = f"{WORK}/tree/{i // 1000}"
            if i % 1000 == 0:
                os.makedirs(directory)
            with open(f"{directory}/{i}", "wb") as one:
                one.write(part)


def measure(kind):
    HOSTS.remove_copies()
    before = workers.cpu()
    said = HOSTS.run(f"{WORK}/{kind}", "--protection=auth", "--timeout=300")
    return workers.seconds(said), workers.cpu() - before


def main():
    make_sources()
    runs = {"file": [], "tree": []}
    for repetition in range(int(os.environ["REPS"])):
        for kind in ("file", "tree") if repetition % 2 else ("tree", "file"):
            runs[kind].append(measure(kind))
    print(f"# A tree beside one file: {FILES} files of {BYTES} bytes, {NODES} receivers\n\n"
          f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, medians of {os.environ['REPS']}; "
          f"all on one machine, files in memory. `tests/bench/trees` measures it again.\n\n"
          "| | seconds | CPU seconds, all members |\n|---|---|---|")
    for kind, values in runs.items():
        print(f"| {kind} | {statistics.median(v[0] for v in values):.2f} "
              f"| {statistics.median(v[1] for v in values):.1f} |")
    for name, at in (("speed", 0), ("CPU", 1)):
        pairs = [tree[at] / file[at] for file, tree in zip(runs["file"], runs["tree"])]
        print(f"\n{name}: the tree takes {statistics.median(pairs):.2f} times what the file takes "
              f"({min(pairs):.2f} to {max(pairs):.2f}).")


main()

#!/usr/bin/env python3
"""Runs what tests/bench/trees prepared: a tree and one file of the same size, by turns.

A group's time is from the moment the last member was wired up to the moment the last receiver held
all of it, as the workers say; CPU is what all processes of the group used. The ratio is of pairs,
so that other work on the machine weighs on both. cp(1) tells what of it is the file system's,
trees_floor.c measures what of that is unavoidable: the least that a tree can take beside a file,
the file's CPU time with its writing exchanged for the tree's.
"""

import os
import statistics
import subprocess
import sys
import time

import workers
from warm_memory import warm_memory
from workers import NODES

HOSTS = workers.Hosts(sys.argv[1])
WORK = HOSTS.work
FILES, BYTES = (int(os.environ[name]) for name in ("FILES", "BYTES"))
INODE = 2048  # What a file takes beside its bytes, as /proc/slabinfo has it, about.

LINKS = f", links of {os.environ['TREES_RATE']}" if os.environ.get("TREES_RATE") else ""


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


def group(kind):
    said = HOSTS.run(f"{WORK}/{kind}", "--protection=auth", "--timeout=300")
    lost = sum(line["packets_lost"] for line in said)
    return workers.seconds(said), lost / max(1, said[0]["packets_sent"] * NODES)


def at_once(*command):
    """A process for each receiver, all at once."""
    begun = time.monotonic()
    running = [subprocess.Popen([word.replace("COPY", HOSTS.copy(rank)) for word in command])
               for rank in range(1, NODES + 1)]
    if any([one.wait() for one in running]):
        sys.exit(f"trees: {command[0]} failed")
    return time.monotonic() - begun, 0


def copies(kind):
    """What the file system alone takes: each receiver's copy by cp(1)."""
    return at_once("cp", "-a", f"{WORK}/{kind}", "COPY")


def calls(kind):
    """The unavoidable part: the receivers' calls to the kernel, and nothing else."""
    return at_once(os.environ["FLOOR"], kind, "COPY", str(FILES), str(BYTES))


def measure(tool, kind):
    HOSTS.remove_copies()
    with warm_memory(NODES * FILES * (BYTES + INODE)):
        before = workers.cpu()
        seconds, lost = tool(kind)
        used = workers.cpu() - before
    return {"seconds": seconds, "lost": lost, "cpu": used}


def main():
    others = os.getloadavg()[1]
    make_sources()
    tools = {"stagecast": group, "cp": copies, "kernel": calls}
    runs = {(name, kind): [] for name in tools for kind in ("file", "tree")}
    for repetition in range(int(os.environ["REPS"])):
        for name, kind in runs if repetition % 2 else reversed(runs):
            runs[name, kind].append(measure(tools[name], kind))
    print(f"# A tree beside one file: {FILES} files of {BYTES} bytes, {NODES} receivers{LINKS}\n\n"
          f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, medians of {os.environ['REPS']}; "
          f"all on one machine, files in memory, its load average {others:.0f} before. `tests/bench/trees` measures it again. cp: as many copies\n"
          "by cp -a at once, without a network. kernel: as many processes that only call openat, pwrite, utimensat and\n"
          "close for each file (`tests/bench/trees_floor.c`): what a receiver can't do without.\n\n"
          "| | seconds | CPU seconds, all members | packets lost |\n|---|---|---|---|")
    for (name, kind), values in runs.items():
        middle = {key: statistics.median(run[key] for run in values) for key in values[0]}
        print(f"| {name}, {kind} | {middle['seconds']:.2f} | {middle['cpu']:.1f} | {100 * middle['lost']:.2f} % |")
    for name in tools:
        for what in ("seconds", "cpu"):
            pairs = [tree[what] / file[what] for file, tree in zip(runs[name, "file"], runs[name, "tree"])]
            print(f"\n{name}, {what}: the tree takes {statistics.median(pairs):.2f} times what the file takes "
                  f"({min(pairs):.2f} to {max(pairs):.2f}).")
    spent = {key: statistics.median(run["cpu"] for run in values) for key, values in runs.items()}
    file = spent["stagecast", "file"]
    least = file - spent["kernel", "file"] + spent["kernel", "tree"]
    print(f"\nWith no more for a tree than the kernel's own {spent['kernel', 'tree']:.1f} CPU seconds, in place of "
          f"{spent['kernel', 'file']:.1f} for a file, it would take {least / file:.2f} times the file's CPU time.")


main()

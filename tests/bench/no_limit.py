#!/usr/bin/env python3
"""Runs what tests/bench/no-limit prepared: groups of workers, and copies beside them.

A group's time is from the moment the last member was wired up to the moment the last receiver held
the verified file, as the workers say. CPU is what all processes of the group used, so that a
machine with other work on it is seen: "alone" is the sum if the machine's cores did nothing else.
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
SOURCE = f"{HOSTS.work}/source"
KINDS = ["cp", *(sys.argv[2:] or ["none", "auth", "encrypt"])]
BITS = os.path.getsize(SOURCE) * 8 * NODES


def group(protection):
    """Seconds until the last receiver held it, and the packets that were lost."""
    rate = [f"--rate-max={os.environ['RATE']}"] if os.environ["RATE"] else []
    said = HOSTS.run(SOURCE, f"--protection={protection}", "--timeout=120", *rate)
    return workers.seconds(said), sum(line["packets_lost"] for line in said)


def copies():
    begun = time.monotonic()
    running = [subprocess.Popen(["cp", SOURCE, HOSTS.copy(rank)]) for rank in range(1, NODES + 1)]
    if any([one.wait() for one in running]):
        sys.exit("no-limit: cp failed")
    return time.monotonic() - begun, 0


def measure(kind):
    HOSTS.remove_copies()
    with warm_memory(os.path.getsize(SOURCE) * (NODES + 1)):
        before = workers.cpu()
        seconds, lost = copies() if kind == "cp" else group(kind)
        used = workers.cpu() - before
    return {"gbps": BITS / seconds / 1e9, "cpu": used, "lost": lost}


def main():
    runs = {kind: [] for kind in KINDS}
    for _ in range(int(os.environ["REPS"])):
        for kind in KINDS:
            runs[kind].append(measure(kind))
    cores = os.cpu_count()
    bare = statistics.median(run["gbps"] for run in runs["cp"])
    rate = f"configured rate {os.environ['RATE']}" if os.environ["RATE"] else "no configured rate"
    print(f"# Without a limit: {NODES} receivers, {os.environ['SIZE']}, MTU {os.environ['MTU']}, {rate}\n\n"
          f"{time.strftime('%Y-%m-%d')}, {cores} cores, medians of {os.environ['REPS']}; all on one "
          f"machine, files in memory. `tests/bench/no-limit` measures it again.\n\n"
          "| | sum, Gbit/s | of cp | CPU, s | alone, Gbit/s | packets lost | each |\n"
          "|---|---|---|---|---|---|---|")
    for kind, values in runs.items():
        middle = {key: statistics.median(run[key] for run in values) for key in values[0]}
        alone = BITS / 1e9 / (middle["cpu"] / cores)
        each = " ".join(f"{run['gbps']:.1f}" for run in values)
        print(f"| {kind} | {middle['gbps']:.1f} | {middle['gbps'] / bare:.2f} | {middle['cpu']:.2f} "
              f"| {alone:.1f} | {middle['lost']:.0f} | {each} |")
    print("\n*alone*: what the cores would carry by that CPU time if they did nothing else; where it is far "
          "above the sum, the machine was busy or waited.")


main()

#!/usr/bin/env python3
"""Runs what tests/bench/no-limit prepared: groups of workers, and copies beside them.

A group's time is from the moment the last member was wired up to the moment the last receiver held
the verified file, as the workers say. CPU is what all processes of the group used, so that a
machine with other work on it is seen: "alone" is the sum if the machine's cores did nothing else.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time

WORK = sys.argv[1]
KINDS = ["cp", *(sys.argv[2:] or ["none", "auth", "encrypt"])]
NODES = int(os.environ["NODES"])
BITS = os.path.getsize(f"{WORK}/source") * 8 * NODES
PIDS = open(f"{WORK}/pids").read().split()


def destination(rank):
    return f"{WORK}/copy.{rank}"


def worker(rank, protection):
    part = f"--source={WORK}/source" if rank == 0 else f"--dest={destination(rank)}"
    command = ["nsenter", f"--target={PIDS[rank]}", "--net", os.environ["WORKER"],
               f"--hosts={WORK}/hosts", f"--rank={rank}", f"--key-file={WORK}/key", part,
               f"--protection={protection}", "--interface=eth0", "--timeout=120",
               *([f"--rate-max={os.environ['RATE']}"] if os.environ["RATE"] else [])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def group(protection):
    """Seconds until the last receiver held it, and the packets that were lost."""
    members = [worker(rank, protection) for rank in range(NODES + 1)]
    said = []
    for rank, member in enumerate(members):
        out, err = member.communicate()
        if member.returncode != 0:
            sys.exit(f"no-limit: rank {rank}: {err}")
        said.append(json.loads(out))
    if len({line["digest"] for line in said}) != 1:
        sys.exit("no-limit: a receiver has other bytes")
    if os.environ.get("VERBOSE"):
        for line in said:
            print(line, file=sys.stderr)
    begun = max(line["held_at"] - line["seconds"] for line in said)
    return max(line["held_at"] for line in said[1:]) - begun, sum(x["packets_lost"] for x in said)


def copies():
    begun = time.monotonic()
    running = [subprocess.Popen(["cp", f"{WORK}/source", destination(rank)])
               for rank in range(1, NODES + 1)]
    if any([one.wait() for one in running]):
        sys.exit("no-limit: cp failed")
    return time.monotonic() - begun, 0


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(kind):
    for rank in range(1, NODES + 1):
        if os.path.exists(destination(rank)):
            os.unlink(destination(rank))
    before = cpu()
    seconds, lost = copies() if kind == "cp" else group(kind)
    return {"gbps": BITS / seconds / 1e9, "cpu": cpu() - before, "lost": lost}


def main():
    runs = {kind: [] for kind in KINDS}
    for _ in range(int(os.environ["REPS"])):
        for kind in KINDS:
            runs[kind].append(measure(kind))
    cores = os.cpu_count()
    bare = statistics.median(run["gbps"] for run in runs["cp"])
    print(f"# Without a limit: {NODES} receivers, {os.environ['SIZE']}, MTU {os.environ['MTU']}\n\n"
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

#!/usr/bin/env python3
"""Runs what tests/bench/small prepared: groups of several sizes, by turns.

A group's time is from the moment the last member was wired up to the moment the last receiver held
the verified file, as the workers say: how long processes take to start does not count. The spread
is from the first member's start to the last one's: early members wait, and what they do meanwhile
(on few cores) is part of what the last one sees.
"""

import os
import statistics
import sys
import time

import workers

WORK = sys.argv[1]
GROUPS = [workers.Hosts(WORK, int(count)) for count in os.environ["RECEIVERS"].split()]


def measure(hosts):
    hosts.remove_copies()
    load = os.getloadavg()[0]
    before = workers.cpu()
    said = hosts.run(f"{WORK}/source", "--timeout=60")
    begun = [line["held_at"] - line["seconds"] for line in said]
    received = sum(line["packets_received"] for line in said)
    return {"ms": workers.seconds(said) * 1e3, "spread": (max(begun) - min(begun)) * 1e3, "load": load,
            "cpu": (workers.cpu() - before) * 1e3 / len(said), "packets": received / len(said)}


def main():
    runs = {hosts.receivers: [] for hosts in GROUPS}
    for _ in range(int(os.environ["REPS"])):
        for hosts in GROUPS:
            runs[hosts.receivers].append(measure(hosts))
    print(f"# A file of {os.environ['BYTES']} bytes, no limit\n\n"
          f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Linux {os.uname().release}, medians of {os.environ['REPS']} (smallest and "
          "largest in brackets); all on one machine,\nfiles in memory, default protection. `tests/bench/small` measures it again.\n\n"
          "| receivers | ms from the last member's start to all verified | ms from the first start to the last | CPU ms a member, start and end "
          "included | packets heard a member | load average before |\n|---|---|---|---|---|---|")
    for count, values in runs.items():
        middle = {key: statistics.median(run[key] for run in values) for key in values[0]}
        times = [run["ms"] for run in values]
        print(f"| {count} | **{middle['ms']:.1f}** ({min(times):.1f}-{max(times):.1f}) | {middle['spread']:.1f} | {middle['cpu']:.1f} "
              f"| {middle['packets']:.0f} | {middle['load']:.1f} |")


main()

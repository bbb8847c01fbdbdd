#!/usr/bin/env python3
"""Measures stagecast and its peers on the same work, side by side.  Appends a line of JSON per repetition.

  CELLS="4:16M:100mbit:0 ..." REPS=5 TOOLS="stagecast,uftp" tests/bench/peers/measure.py RESULTS    (root)

Within a repetition each tool has its turn, so that what else the machine does meets all of them; before each, the
machine has QUIET_S seconds (5) to come to rest. A tool that fails is noted and the others go on.
"""

import contextlib
import json
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import cells  # noqa: E402
import hosts  # noqa: E402
import tools  # noqa: E402
from summary import BUSY_MAX  # noqa: E402
from warm_memory import warm_memory  # noqa: E402

WATCHED_BYTES = 256 << 10  # up to here a few milliseconds matter
SETTLED = 0.2  # of the cores
TICKS = os.sysconf("SC_CLK_TCK")


class Cores:
    """How busy the machine's cores were between two moments, by any process."""

    def __init__(self):
        self.samples = []  # (moment, busy seconds of all cores)
        threading.Thread(target=self.sample, daemon=True).start()

    def sample(self):
        while True:
            with open("/proc/stat") as file:
                words = [int(word) for word in file.readline().split()[1:9]]
            self.samples.append((time.time(), (sum(words) - words[3] - words[4] - words[7]) / TICKS))
            time.sleep(0.05)

    def busy(self, begin, end):
        """A share of all cores, in whole ticks of the kernel."""
        while self.samples[-1][0] < end:
            time.sleep(0.05)
        before = max((one for one in self.samples if one[0] <= begin), default=self.samples[0])
        after = min(one for one in self.samples if one[0] >= end)
        return (after[1] - before[1]) / (after[0] - before[0]) / os.cpu_count()


def settle(cores):
    """Waits until the machine is idle, QUIET_S at most; returns the begin of the last half second."""
    until = time.monotonic() + float(os.environ.get("QUIET_S", "5"))
    while True:
        begin = time.time()
        time.sleep(0.5)
        if cores.busy(begin, begin + 0.5) < SETTLED or time.monotonic() > until:
            return begin


def memory_for(group):
    """Without a limit it is the memory that limits, and it must cost each tool the same."""
    limits = group.cell.rate_bits is None and group.cell.size > WATCHED_BYTES
    return warm_memory(group.cell.size * (len(group.receivers) + 1)) if limits else contextlib.nullcontext()


def repetition(group, tool, cores, digest):
    """One run of one tool, as a row of the results."""
    hosts.everywhere([host.ask("sweep") for host in group.hosts], 20)
    clean = [host.ask("remove", paths=[tools.DEST, "/tmp/log"]) for host in group.hosts]
    hosts.everywhere(clean, 20)
    [before] = hosts.everywhere([group.source.ask("sent")], 20)
    quiet = settle(cores)
    small = group.cell.size <= WATCHED_BYTES
    seen = [host.ask("watch", path=tools.DEST, size=group.cell.size) for host in group.receivers] if small else []
    row = {"cell": group.cell.name, "tool": tool.name, "at": time.time(), "load": os.getloadavg()[0]}
    try:
        with memory_for(group):
            run = tool.run(group)
        [after] = hosts.everywhere([group.source.ask("sent")], 20)
        found = hosts.everywhere([host.ask("look", path=tools.DEST) for host in group.receivers], 120)
        if any(one["sha256"] != digest for one in found):
            raise hosts.Broken(f"{sum(one['sha256'] != digest for one in found)} receivers without the file")
    except (hosts.Broken, ValueError, KeyError, IndexError) as error:
        return {**row, "failed": str(error) or type(error).__name__}
    written = max(one["at"] for one in hosts.everywhere(seen, 20)) if small else max(one["changed"] for one in found)
    held = written if run.held is None else run.held
    # A few milliseconds are fewer ticks than a share needs, and without a limit the tool itself fills the cores: then
    # it is what others did just before.
    is_before = small or group.cell.rate_bits is None
    busy = cores.busy(quiet, quiet + 0.5) if is_before else cores.busy(run.began, held)
    return {**row, "seconds": held - run.began, "busy": busy, "sent": after["bytes"] - before["bytes"],
            "cpu_per_gb": run.cpu / len(group.hosts) / (group.cell.size / 1e9), "note": run.note}


def measure(cell, chosen, repetitions, write):
    cores = Cores()
    with hosts.Group(cell, os.environ.get("BUILD", "build")) as group:
        [source] = hosts.everywhere([group.source.ask("look", path=tools.SOURCE)], 120)
        hopeless = dict.fromkeys((tool.name for tool in chosen), 0)
        for number in range(repetitions):
            for tool in chosen:
                if hopeless[tool.name] >= 2:
                    continue  # it has shown that it fails, or that it fills the cores by itself
                row = repetition(group, tool, cores, source["sha256"])
                hopeless[tool.name] += "failed" in row or (isinstance(tool, tools.Mpi) and row["busy"] > BUSY_MAX)
                write(row)
                said = row.get("failed") or f"{row['seconds']:.3f} s"
                print(f"{cell.name} {number + 1}/{repetitions} {tool.name}: {said}", file=sys.stderr, flush=True)


def main():
    wanted = [name.strip() for name in os.environ.get("TOOLS", "").split(";") if name.strip()]
    unknown = set(wanted) - {tool.name for tool in tools.TOOLS}
    if unknown:
        sys.exit(f"TOOLS: no {sorted(unknown)}; there are: {'; '.join(tool.name for tool in tools.TOOLS)}")
    broken = False
    with open(sys.argv[1], "a") as results:

        def write(row):
            print(json.dumps(row), file=results, flush=True)

        for cell in cells.parse(os.environ.get("CELLS", "")):
            chosen = [tool for tool in tools.TOOLS if tool.fits(cell) and (not wanted or tool.name in wanted)]
            try:
                measure(cell, chosen, int(os.environ.get("REPS", "5")), write)
            except Exception as error:  # the next cell has hosts of its own
                print(f"{cell.name}: {error!r}", file=sys.stderr)
                broken = True
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()

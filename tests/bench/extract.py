#!/usr/bin/env python3
"""The tree and the page of tests/bench/extract.

extract.py tree DIRECTORY BYTES                                             makes an environment
extract.py page WORK LOGS BYTES FILES NODES RATE WANTED CONF                medians and ratios
"""

import glob
import os
import random
import re
import statistics
import sys
import time

sys.dont_write_bytecode = True
from table import busy, read_times  # noqa: E402

# Of an environment of conda's: most files are small, most bytes are in few large ones.
#        share of files, median bytes, sigma of the logarithm, is text
KINDS = ((0.80, 3_000, 1.3, True), (0.19, 20_000, 1.2, True), (0.01, 900_000, 1.4, False))
FILES_A_DIRECTORY = 40


def size_and_kind(chance):
    _, median, sigma, is_text = chance.choices(KINDS, [kind[0] for kind in KINDS])[0]
    return min(int(chance.lognormvariate(0, sigma) * median), 64 << 20), is_text


def make_tree(top, bytes_wanted):
    """Reproducible: the same bytes make the same tree. Text compresses to about a third, the rest not at all."""
    chance = random.Random(1)
    words = [bytes(chance.choices(b"abcdefghijklmnopqrstuvwxyz_ ", k=chance.randint(2, 9))) for _ in range(3000)]
    text = b" ".join(chance.choices(words, k=1 << 20))
    done = files = 0
    while done < bytes_wanted:
        size, is_text = size_and_kind(chance)
        directory = f"{top}/lib/package{files // (FILES_A_DIRECTORY * 8)}/part{files // FILES_A_DIRECTORY}"
        if files % FILES_A_DIRECTORY == 0:
            os.makedirs(directory)
        with open(f"{directory}/module{files}.{'py' if is_text else 'so'}", "wb") as one:
            while size > 0:
                begin = chance.randrange(len(text) - 1)
                part = text[begin:begin + size] if is_text else chance.randbytes(min(size, 1 << 20))
                done += one.write(part)
                size -= len(part)
        files += 1


def turns(logs, job):
    """Of a good stage, what its first node's daemon says, in seconds: the prolog's time, and the group's."""
    for path in glob.glob(f"{logs}/stagecastd-*.log"):
        for line in open(path, errors="replace"):
            if f"stage finished job={job} " in line and "outcome=ok" in line:
                phases = {name: int(value) / 1000 for name, value in re.findall(r"\b(\w+)_ms=(-?\d+)", line)}
                return phases["total"], phases["transfer"] + phases["verify"]
    sys.exit(f"extract: no daemon tells of job {job}")


def cell(values, beside=None):
    text = f"{statistics.median(values):.2f} s ({min(values):.2f}-{max(values):.2f})"
    if beside:
        ratios = [there / here for here, there in zip(values, beside)]
        text += f" | {statistics.median(ratios):.1f}x"
    return text + (" |" if beside else " | |")


def page(work, logs, size, files, nodes, rate, wanted, conf):
    staged, prologs, again, copied, unpacked, cpu = [], [], [], [], [], []
    for one in sorted(glob.glob(f"{work}/[0-9]*")):
        prolog, group = turns(logs, open(f"{one}/staged/job").read().strip())
        staged.append(group)
        prologs.append(prolog)
        again.append(turns(logs, open(f"{one}/again/job").read().strip())[0])
        times = read_times(f"{one}/sbcast")
        copied.append(times["copied"] - times["sbcast"])
        unpacked.append(times["unpacked"] - times["sbcast"])
        cpu.append(busy(f"{one}/cpu.before", f"{one}/cpu.after"))
    cut = f" {wanted} was asked for, and is more than this machine's memory holds for all nodes at once." if wanted else ""
    setting = f" stagecast.conf: {conf}." if conf else ""
    print(f"""# An environment of many files: `extract` beside sbcast and tar

{nodes} emulated nodes, links of {rate}, node-local directories in memory, a plain tar of {int(size) / 1e6:.0f} MB with {files} files (most of
a few KB, most bytes in few large ones, a third of them text), medians of {len(staged)} repetitions (smallest and
largest in brackets), by turns.{cut}{setting}

| what | time | how many times as fast as sbcast and tar |
|---|---|---|
| stagecast `extract`: wired-up group to the last node's verified tree | {cell(staged, unpacked)}
| the job's prolog, with announcement and wire-up | {cell(prologs, unpacked)}
| the second job's prolog, same archive | {cell(again, unpacked)}
| sbcast alone | {cell(copied)}
| sbcast, then tar on every node | {cell(unpacked)}

{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Linux {os.uname().release}; cores busy while staging: {100 * statistics.median(cpu):.0f} %.
Made by `make bench PARTS=extract`.""")


def main():
    command, *rest = sys.argv[1:]
    if command == "tree":
        make_tree(rest[0], int(rest[1]))
    else:
        page(*rest)


main()

"""Reads what the programs print, and summarises it.  No host is needed for this."""

import re
import statistics

NUMBER = r"([\d.]+)"


def spread(values):
    """Median, least and most."""
    return statistics.median(values), min(values), max(values)


def last_ready(text, ranks):
    """When the last rank was out of MPI_Init."""
    moments = [float(word) for word in re.findall(rf"^ready {NUMBER}$", text, re.MULTILINE)]
    if len(moments) != ranks:
        raise ValueError(f"{len(moments)} of {ranks} ranks were ready: {text.strip()[-300:]}")
    return max(moments)


def spawned(text):
    [seconds] = re.findall(rf"^spawned {NUMBER}$", text, re.MULTILINE)
    return float(seconds)


def measured(text):
    """The lines "NAME X MEDIAN LEAST MOST", as (name, x, (median, least, most))."""
    lines = re.findall(rf"^([a-z]+) (\d+) {NUMBER} {NUMBER} {NUMBER}$", text, re.MULTILINE)
    if not lines:
        raise ValueError(f"nothing measured: {text.strip()[-300:]}")
    return [(name, int(x), tuple(map(float, seconds))) for name, x, *seconds in lines]


def by_rank(text, ranks):
    """Of each size, every rank's median: {2: [0.0001, ...]}."""
    found = {}
    for size, rank, seconds in re.findall(rf"^latency (\d+) (\d+) {NUMBER}$", text, re.MULTILINE):
        found.setdefault(int(size), {})[int(rank)] = float(seconds)
    if not found or any(sorted(one) != list(range(ranks)) for one in found.values()):
        raise ValueError(f"not every one of {ranks} ranks has said how long it took: {text.strip()[-300:]}")
    return {size: [one[rank] for rank in range(ranks)] for size, one in found.items()}


def skew(ranks):
    """How much later the last receiver has it than the first, as a share of the last one's time; rank 0 is the root."""
    return 1 - min(ranks[1:]) / max(ranks[1:])


def delayed(ranks, late, seconds):
    """How many of the receivers other than `late` end after at least half of the delay."""
    return sum(value > seconds / 2 for rank, value in enumerate(ranks) if rank not in (0, late))

"""Summarises a cell's repetitions per tool.  Medians, or why there are none."""

import dataclasses
import json
import statistics

import cells

BUSY_MAX = 0.75  # of the cores; above it the machine was measured, not the tool


@dataclasses.dataclass(frozen=True)
class Summary:
    cell: cells.Cell
    tool: str
    runs: int
    failures: int
    seconds: tuple = ()  # median, smallest, largest; empty if it failed
    busy: float = 0.0
    sent: float | None = None  # the source's bytes over the file's
    cpu: float | None = None  # seconds per GB and node

    @property
    def state(self):
        if not self.seconds:
            return "failed"
        return "void" if self.busy > BUSY_MAX else "ok"

    @property
    def ratios(self):
        """Over wire time; nothing without a rate, and nothing from a void cell."""
        if self.state != "ok" or not self.cell.rate_bits:
            return ()
        return tuple(one / self.cell.wire_seconds for one in self.seconds)


def read(lines):
    return [json.loads(line) for line in lines if line.strip()]


def summarize(rows):
    """One Summary for each cell and tool, in the order in which they first occur."""
    groups = {}
    for row in rows:
        groups.setdefault((row["cell"], row["tool"]), []).append(row)
    return [summary_of(*key, group) for key, group in groups.items()]


def summary_of(name, tool, rows):
    cell = cells.parse_one(name)
    good = [row for row in rows if "failed" not in row]
    # Half of the runs must have ended: a median of the lucky ones would flatter.
    if len(good) * 2 <= len(rows):
        return Summary(cell, tool, len(rows), len(rows) - len(good))

    def middle(key):
        return statistics.median(row[key] for row in good)

    times = [row["seconds"] for row in good]
    return Summary(cell, tool, len(rows), len(rows) - len(good), (middle("seconds"), min(times), max(times)),
                   middle("busy"), middle("sent") / cell.size, middle("cpu_per_gb"))


def ordered(summaries, key):
    """The distinct values of `key`, as they first occur."""
    return list(dict.fromkeys(key(one) for one in summaries))

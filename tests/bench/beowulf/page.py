#!/usr/bin/env python3
"""Makes a page of Markdown of RESULTS, a table for each figure, and a plot beside it.

  tests/bench/beowulf/page.py RESULTS PAGE.md
"""

import json
import os
import sys
import time

sys.dont_write_bytecode = True

import figures  # noqa: E402
import plots  # noqa: E402

TITLES = {"start": "Start of programs: seconds by the number of tasks", "ring": "Ring: ms a loop by bytes",
          "row": "Row torus: ms a loop by bytes", "column": "Column torus: ms a loop by bytes",
          "bottleneck": "Process bottleneck: ms a loop by bytes", "raw": "Transpose by the program: ms a loop by the matrix's order",
          "transpose": "Transpose by MPI's data types: ms a loop by the matrix's order",
          "blocks": "MPI_Bcast in blocks, over the wire time: group and bytes of a block", "files": "Files, over the wire time: hosts",
          "latency": "Short broadcasts: ms until the last rank has it, how much earlier the first receiver has it (group and bytes)",
          "late": "One rank 5 ms late: its own end in ms, and how many other receivers it delays (group)",
          "staged": "Start from a shared file system, and staged: seconds by the number of hosts"}


def key(row):
    return (row["group"], row["x"]) if "group" in row else (row["x"],)


def words(row):
    """A cell of the table."""
    if row["figure"] == "latency":
        return f"{1e3 * max(row['ranks'][1:]):.2f}, {100 * figures.skew(row['ranks']):.0f} %"
    if row["figure"] == "late":
        return f"{1e3 * row['ranks'][1]:.2f}, {figures.delayed(row['ranks'], 1, 0.005)}"
    scale = row["ratio"] / row["seconds"][0] if "ratio" in row else 1 if row["figure"] in ("start", "staged") else 1e3
    middle, least, most = (f"{scale * value:.3g}" if scale * value < 1000 else f"{scale * value:.0f}" for value in row["seconds"])
    return f"{middle} ({least}-{most})"


def table(rows):
    columns = sorted({key(row) for row in rows})
    found = {(row["by"], key(row)): words(row) for row in rows}
    names = list(dict.fromkeys(row["by"] for row in rows))
    return "\n".join(["| by | " + " | ".join(": ".join(map(str, column)) for column in columns) + " |", "|---|" + "---|" * len(columns)]
                     + [f"| {name} | " + " | ".join(found.get((name, column), "") for column in columns) + " |" for name in names])


def page(rows, command, plot):
    loads = [row["load"] for row in rows]
    parts = [f"# The papers' evaluations\n\n`{command}`, {time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors, load {min(loads):.1f}-{max(loads):.1f}. "
             "Medians, least and most in\nbrackets; [evaluation](../evaluation.md) says what each table is.\n", f"![The same as a plot]({plot})\n"]
    for figure, title in TITLES.items():
        own = [row for row in rows if row["figure"] == figure and "failed" not in row]
        parts += [f"## {title}\n", table(own), ""] if own else []
    parts += [f"* {row['figure']}, {row['by']}: failed" for row in rows if "failed" in row]
    return "\n".join(parts).rstrip() + "\n"


def main():
    with open(sys.argv[1]) as file:
        rows = [json.loads(line) for line in file]
    if not any("failed" not in row for row in rows):
        sys.exit("beowulf: no result, so the page stays as it was")
    settings = (f'{name}="{os.environ[name]}"' for name in ("FIGURES", "NODES", "RATE", "REPS", "LOOPS", "SIZE", "RANKS", "ONLY", "POLL")
                if os.environ.get(name))
    plot = os.path.splitext(sys.argv[2])[0] + ".svg"
    text = page(rows, " ".join(["make bench PARTS=beowulf", *settings]), os.path.basename(plot))
    print(text)
    with open(sys.argv[2], "w") as file:
        file.write(text)
    plots.draw(rows, plot)


if __name__ == "__main__":
    main()

"""Draws the figures of RESULTS in one SVG, by gnuplot."""

import json
import subprocess

# Title, figure, which rows (a value, or of which of all values), what x is.
PANELS = (
    ("Start of programs: s by tasks", "start", {}, "x"),
    ("Bottleneck: ms a loop by bytes", "bottleneck", {}, "x"),
    ("Ring of 16: ms a loop by bytes", "ring", {}, "x"),
    ("Torus of 4 x 4, rows: ms a loop by bytes", "row", {}, "x"),
    ("Transpose by the program: ms a loop by order", "raw", {}, "x"),
    ("MPI_Bcast, the longest block: over the wire time by ranks", "blocks", {"x": max}, "group"),
    ("Short broadcast, 2 bytes: ms until the last rank has it, by ranks", "latency", {"x": 2}, "group"),
    ("Short broadcast, 8 KB: ms until the last rank has it, by ranks", "latency", {"x": 8 << 10}, "group"),
    ("Files: over the wire time by hosts", "files", {}, "x"),
    ("Start from a shared file system, and staged: s by hosts", "staged", {}, "x"),
)


def value(row):
    """What is drawn: a ratio, seconds or milliseconds, as the page has it."""
    if "ranks" in row:
        return 1e3 * max(row["ranks"][1:])
    return row.get("ratio", row["seconds"][0] * (1 if row["figure"] in ("start", "staged") else 1e3))


def panel(number, rows, title, figure, which, across):
    """The lines of gnuplot for one panel."""
    own = [row for row in rows if row["figure"] == figure and "failed" not in row]
    for name, wanted in which.items() if own else ():
        chosen = wanted(row[name] for row in own) if callable(wanted) else wanted
        own = [row for row in own if row[name] == chosen]
    lines, curves = [f"set title {json.dumps(title)}"], []
    for name in dict.fromkeys(row["by"] for row in own):
        points = sorted((row[across], value(row)) for row in own if row["by"] == name)
        if len(points) > 1:
            block = f"$panel{number}_{len(curves)}"
            lines += [f"{block} << end", *(f"{x} {y:.6g}" for x, y in points), "end"]
            curves.append(f"{block} using 1:2 with linespoints title {json.dumps(name)}")
    return [*lines, "plot " + ", ".join(curves)] if curves else []


def draw(rows, output):
    lines = [f"set terminal svg noenhanced size 1000,1500 font 'sans,11' background 'white'\nset output {json.dumps(output)}",
             "set multiplot layout 5,2\nset logscale xy 2\nset format y '%g'\nset xtics rotate by -30\nset rmargin 5\nset key below font ',9'\nset grid"]
    for number, each in enumerate(PANELS):
        lines += panel(number, rows, *each)
    subprocess.run(["gnuplot"], input="\n".join([*lines, "unset multiplot", ""]), text=True, check=True)

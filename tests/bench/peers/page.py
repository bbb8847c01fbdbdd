#!/usr/bin/env python3
"""Makes a page of Markdown and a plot of RESULTS.

  tests/bench/peers/page.py RESULTS PAGE.md PLOT.svg
"""

import datetime
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True

import plot  # noqa: E402
import summary  # noqa: E402

PACKAGES = ("uftp", "udpcast", "openmpi-bin", "mpich")


def absent_text(one):
    """Why there is no number, if there is none."""
    if one is None:
        return ""
    return f"fails ({one.failures} of {one.runs})" if one.state == "failed" else f"void ({100 * one.busy:.0f} % busy)"


def spread_text(one, values, form):
    middle, smallest, largest = (form.format(value) for value in values)
    return f"{middle} ({smallest}-{largest})" + (f", {one.failures} of {one.runs} failed" if one.failures else "")


def ratio_text(one):
    return spread_text(one, one.ratios, "{:.3f}") if one and one.state == "ok" else absent_text(one)


def milliseconds_text(one):
    return spread_text(one, [1000 * value for value in one.seconds], "{:.1f}") if one and one.state == "ok" else absent_text(one)


def cost_text(one):
    if one is None or one.state != "ok":
        return ""
    return f"{one.sent:.3f} / {one.cpu:.1f}"


def table(summaries, text, titles):
    """Tools down, cells across; "" where a tool has no part in a cell."""
    found = {(one.cell, one.tool): one for one in summaries}
    columns = summary.ordered(summaries, lambda one: one.cell)
    lines = ["| tool | " + " | ".join(titles(cell) for cell in columns) + " |", "|---|" + "---|" * len(columns)]
    for tool in summary.ordered(summaries, lambda one: one.tool):
        words = [text(found.get((cell, tool))) for cell in columns]
        name = f"**{tool}**" if tool == "stagecast" else tool
        lines.append(f"| {name} | " + " | ".join(words) + " |")
    return "\n".join(lines)


def title(cell):
    loss = f", {cell.loss} loss" if cell.loss_share else ""
    size = summary.cells.size_text(cell.size) + "B"
    rate = re.sub(r"([kmg])bit", lambda unit: f" {unit[1].upper()}bit/s" if unit[1] != "k" else " kbit/s", cell.rate)
    return f"N={cell.receivers}, {size}{', ' + rate if cell.rate_bits else ''}{loss}"


def versions():
    try:
        versions = subprocess.check_output(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *PACKAGES], text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown versions"
    return ", ".join(line for line in versions.splitlines() if not line.endswith(" "))  # (known, but not installed)


def machine():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
        congestion = file.read().strip()
    return f"{os.cpu_count()} cores ({model.group(1) if model else 'unknown'}), Linux {os.uname().release}, TCP's congestion control {congestion}"


def page(rows, command, where, plot_name):
    summaries = summary.summarize(rows)
    limited = [one for one in summaries if one.cell.rate_bits]
    free = [one for one in summaries if not one.cell.rate_bits]
    loads, days = [row["load"] for row in rows], {datetime.date.fromtimestamp(row["at"]).isoformat() for row in rows}
    parts = [HEAD]
    if limited:
        parts += [f"![Time over wire time]({plot_name})\n", "## Time over wire time (size x 8 / rate)\n", table(limited, ratio_text, title), "",
                  "## What it costs: the source's bytes over the file's / CPU seconds per GB and node\n", table(limited, cost_text, title), ""]
    if free:
        parts += ["## Milliseconds without a rate limit\n", table(free, milliseconds_text, title), ""]
    parts.append(f"{' and '.join(sorted(days))}; {where}. Load average before the runs: {min(loads):.2f}-{max(loads):.2f}.\n"
                 f"{versions()}.\n\nMade by `{command}`.\n")
    return "\n".join(parts)


HEAD = """# stagecast and its peers on the same work

N receivers and a source, each a host of its own (network namespace, veth into one bridge, MTU 1500), links limited in both directions
(tbf), loss by iptables in each receiver; one file in memory. Medians, smallest and largest in brackets; the tools take turns within
each repetition. The clock starts when the last member is ready (peers: when the sender is started, its receivers already
listening) and stops when the last receiver has the whole file. All digests are compared, but only stagecast's own check is on the
clock. A cell in which the cores were more than 75 % busy (without a rate limit: just before it) says nothing about a tool and is void;
MPI's ranks poll, so with a rate limit theirs always are. The limits let the first 128 KB pass at once: 0.8 % of 16 MB.

stagecast runs with its default protection, encrypt, and without a configured rate unless the row says otherwise. uftp and udpcast do not
encrypt, and are configured with 99 % of the link's rate (uftp 96 %, to which it adds headers). MPI is timed within MPI_Bcast and need not
write the file. CPU time is what the kernel accounts to a tool's processes from start to end; the cost of the emulated switch is not included.
"""


def main():
    results, output, picture = sys.argv[1:4]
    with open(results) as file:
        rows = summary.read(file)
    if not rows:
        sys.exit("bench: no result")
    command = " ".join(["make bench", *(f'{name}="{os.environ[name]}"' for name in ("CELLS", "REPS", "TOOLS") if os.environ.get(name))])
    text = page(rows, command, machine(), os.path.basename(picture))
    print(text)
    if all(one.state != "ok" for one in summary.summarize(rows)):
        sys.exit("bench: not one cell counts, so the page stays as it was")
    os.makedirs(os.path.dirname(os.path.abspath(output)), exist_ok=True)
    with open(output, "w") as file:
        file.write(text)
    with open(picture, "w") as file:
        file.write(plot.svg(summary.summarize(rows), title))


if __name__ == "__main__":
    main()

"""Writes the result of a soak.  Its table as Markdown, and what is asked of it as TAP."""

from samples import later_half, slope

# The most that a daemon may grow by per 100 jobs of the cluster, over the later half of the soak. It remembers its last
# 256 stagings for `stagecast explain`, at some KiB each: a short soak sees that list fill.
RSS_KIB, SHORT_RSS_KIB, SHORT_JOBS = 50, 400, 1000
# The most that it writes to its log for a job, and that slurmctld is asked beyond what a job without files asks.
LOG_BYTES = 3000
REQUESTS = 6


def of_node(taken, node, what):
    return [sample[what] for sample in taken if sample["node"] == node]


def log_per_job(first, last, jobs):
    return [(after["log"] - before["log"]) / max(1, jobs) for before, after in zip(first, last)]


def rates(found):
    return {name: count / found[1] for name, count in found[2].items()}


def text(count, found, plain, taken, first, last, seconds):
    """The page: one row a daemon, one row a request's type."""
    logs = log_per_job(first, last, found[1] + plain[1])
    lines = ["# Many jobs, one after another", "",
             f"`make soak JOBS={count}`: {count} submissions with files ({found[1]} jobs, an array's tasks counted), then "
             f"{plain[1]} jobs without, on {len(first)} emulated nodes of one machine, in {seconds:.0f} s.", "",
             "Memory and descriptors of each `stagecastd`; slopes per 100 jobs of the cluster, by least squares over the later half "
             "of the samples, taken while jobs run.", "",
             "| node | RSS at first, at last, most, KiB | slope, KiB | data at first, at last, KiB | descriptors at first, most, at last "
             "| slope | log, bytes a job |", "|---|---|---|---|---|---|---|"]
    for before, after, log in zip(first, last, logs):
        node = before["node"]
        lines.append(f"| {node} | {before['rss']}, {after['rss']}, {max(of_node(taken, node, 'rss'))} "
                     f"| {slope(later_half(taken, node, 'rss')):+.1f} | {before['data']}, {after['data']} "
                     f"| {before['descriptors']}, {max(of_node(taken, node, 'descriptors'))}, {after['descriptors']} "
                     f"| {slope(later_half(taken, node, 'descriptors')):+.2f} | {log:.0f} |")
    staged, bare = rates(found), rates(plain)
    lines += ["", "Requests to slurmctld per job, by type (`sdiag`); the samples and the end of jobs are read without any.", "",
              "| type | with files | without |", "|---|---|---|"]
    for name in sorted(set(staged) | set(bare), key=lambda name: -staged.get(name, 0)):
        lines.append(f"| {name} | {staged.get(name, 0):.2f} | {bare.get(name, 0):.2f} |")
    lines.append(f"| all | {sum(staged.values()):.2f} | {sum(bare.values()):.2f} |")
    return "\n".join(lines) + "\n"


def judge(wrong, left, bad_lines, found, plain, taken, first, last):
    """Prints the TAP lines; how many failed."""
    points = [("every job ended as it should, with the right content", [f"{name}: {'; '.join(why)}" for name, why in wrong.items()]),
              ("nothing is left behind, every node is idle", left), ("the daemons' logs have no internal error", bad_lines)]
    nodes = [sample["node"] for sample in first]
    points.append(("no daemon ended", [f"{a['node']}: {a['pid']} became {b['pid']}" for a, b in zip(first, last) if a["pid"] != b["pid"]]))
    limit = RSS_KIB if found[1] >= SHORT_JOBS else SHORT_RSS_KIB
    grown = [(node, slope(later_half(taken, node, "rss"))) for node in nodes]
    points.append((f"memory grows by {limit} KiB per 100 jobs at most", [f"{n}: {s:+.1f} KiB" for n, s in grown if s > limit]))
    opened = [(node, slope(later_half(taken, node, "descriptors"))) for node in nodes]
    notes = [f"{a['node']}: {a['descriptors']} descriptors became {b['descriptors']} ({s:+.2f} per 100 jobs)"
             for a, b, (_, s) in zip(first, last, opened) if b["descriptors"] > a["descriptors"] + 2]
    points.append(("descriptors are as many as at first", notes))
    logs = log_per_job(first, last, found[1] + plain[1])
    points.append((f"a job writes {LOG_BYTES} bytes to a daemon's log at most", [f"{n}: {b:.0f}" for n, b in zip(nodes, logs) if b > LOG_BYTES]))
    more = sum(rates(found).values()) - sum(rates(plain).values())
    points.append((f"a job with files asks slurmctld {REQUESTS} times more at most", [f"{more:.2f}"] if more > REQUESTS else []))
    for number, (name, notes) in enumerate(points, 1):
        print(f"{'not ok' if notes else 'ok'} {number} {name}")
        for note in notes:
            print("# " + note.encode("ascii", "backslashreplace").decode().replace("\n", " // ")[:900])
    print(f"1..{len(points)}")
    return sum(bool(notes) for _, notes in points)

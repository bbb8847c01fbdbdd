"""Samples a daemon's resources and how they grow.  Samples of each node's stagecastd, and slopes per 100 jobs."""

import re

# On a node: pid, KiB of memory in RAM and of its own data, descriptors, bytes of its log.
LOOK = r"""
pid=$(cat /run/lab/stagecastd.pid)
awk '/^VmRSS|^VmData/ { printf "%s ", $2 } END { print "" }' /proc/$pid/status
echo "$pid $(ls /proc/$pid/fd | wc -l) $(stat -c %s /var/log/stagecastd-$(hostname).log)"
"""


def take(lab, nodes, jobs):
    """[{what: value}] of each node, after a number of jobs."""
    found = []
    for node in nodes:
        _, said = lab.shell(node, LOOK)
        rss, data, pid, descriptors, log = map(int, said.split())
        found.append({"node": node, "jobs": jobs, "pid": pid, "rss": rss, "data": data, "descriptors": descriptors, "log": log})
    return found


def slope(points):
    """Per 100 of x, by least squares; 0 of fewer than three points."""
    if len(points) < 3:
        return 0.0
    middle_x, middle_y = (sum(values) / len(points) for values in zip(*points))
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return 100 * sum((x - middle_x) * (y - middle_y) for x, y in points) / spread if spread else 0.0


def later_half(samples, node, what):
    """The first half of a life fills what has a bound: caches, the history of stagings."""
    mine = [(sample["jobs"], sample[what]) for sample in samples if sample["node"] == node]
    return mine[len(mine) // 2:]


def requests(lab):
    """What slurmctld counted since it was reset: ({type: count}, {user: count})."""
    _, said = lab.shell("login", "sdiag")
    by_type, _, rest = said.partition("Remote Procedure Call statistics by user")
    row = re.compile(r"^\s+(\S+)\s+\(\s*\d+\) count:(\d+)", re.M)
    by_type = by_type.partition("statistics by message type")[2]
    return {name: int(count) for name, count in row.findall(by_type)}, \
        {name: int(count) for name, count in row.findall(rest.partition("Pending RPC")[0])}


def reset_requests(lab):
    lab.shell("login", "sdiag -r")

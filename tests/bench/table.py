#!/usr/bin/env python3
"""Medians and ratios of a benchmark's repetitions, as a page of Markdown."""
import argparse
import datetime
import glob
import os
import re
import statistics


def read_times(directory):
    return {name: float(moment) for name, moment in map(str.split, open(os.path.join(directory, "times")))}


def reported_by_daemon(logs, job):
    """What the first node's daemon says of a good stage: seconds from the wired-up group to the group's
    verdict, and when that was; or two None.

    transfer_ms ends when that node's own worker is done; verify_ms when the last node has said so.
    """
    for path in glob.glob(os.path.join(logs, "stagecastd-*.log")):
        for line in open(path, errors="replace"):
            found = re.search(rf"^([\d.]+) .*stage finished job={job} .*\btransfer_ms=(\d+) verify_ms=(\d+) .*outcome=ok", line)
            if found:
                return (int(found.group(2)) + int(found.group(3))) / 1000, float(found.group(1))
    return None, None


def started(logs, job):
    """When slurmctld gave the job its nodes."""
    for line in open(os.path.join(logs, "slurmctld.log"), errors="replace"):
        found = re.match(rf"\[([\dT:.-]+)\] .*\b(Allocate|Started) JobId={job}\b", line)
        if found:
            return datetime.datetime.fromisoformat(found.group(1)).timestamp()
    return None


def busy(before, after):
    """Share of the cores' time that was not idle between two first lines of /proc/stat."""
    first, last = ([int(word) for word in open(path).read().split()[1:]] for path in (before, after))
    passed = [b - a for a, b in zip(first, last)]
    return 1 - (passed[3] + passed[4]) / max(1, sum(passed))


def cell(values, wire):
    values = [value for value in values if value is not None]
    if not values:
        return "not configured |"
    middle = statistics.median(values)
    return f"{middle:.2f} s ({min(values):.2f}-{max(values):.2f}) | **{middle / wire:.3f}**"


def main():
    arguments = argparse.ArgumentParser()
    for name in ("work", "logs", "configured", "loss", "rate-text"):
        arguments.add_argument("--" + name, required=True)
    for name in ("bytes", "nodes", "rate"):
        arguments.add_argument("--" + name, type=int, required=True)
    given = arguments.parse_args()
    wire = given.bytes * 8 / given.rate
    transfer, verified, whole, scheduled, sbcast, loads, cpu = [], [], [], [], [], [], []
    for one in sorted(glob.glob(os.path.join(given.work, "[0-9]*"))):
        staged = read_times(os.path.join(one, "staged"))
        job = open(os.path.join(one, "staged", "job")).read().strip()
        seconds, moment = reported_by_daemon(given.logs, job)
        transfer.append(seconds)
        verified.append(moment and moment - staged["submit"])
        whole.append(staged["script"] - staged["submit"])
        moment = started(given.logs, job)
        scheduled.append(moment and staged["script"] - moment)
        times = read_times(os.path.join(one, "sbcast"))
        sbcast.append(times["copied"] - times["sbcast"])
        loads.append(float(open(os.path.join(one, "load")).read()))
        cpu.append(busy(os.path.join(one, "cpu.before"), os.path.join(one, "cpu.after")))
    model = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    print(f"""# The main job beside sbcast

{given.nodes} emulated nodes, {given.rate_text} links (both directions), loss {given.loss}, a file of {given.bytes} bytes, medians of {len(whole)}
repetitions (smallest and largest in brackets), both in one run. Wire time is {wire:.3f} s. stagecast had
RateMax={given.configured} with RateSearch=no and ran with its default protection.

| what | time | over wire time |
|---|---|---|
| stagecast, transfer (wired-up group to the last node's verified copy) | {cell(transfer, wire)} |
| stagecast, whole (call of sbatch until all nodes' copies are verified) | {cell(verified, wire)} |
| the same until the script's first line | {cell(whole, wire)} |
| the same without Slurm's wait to schedule it (0-1 s: it looks once a second) | {cell(scheduled, wire)} |
| sbcast (call to return, within a job) | {cell(sbcast, wire)} |

{datetime.date.today().isoformat()}, {os.cpu_count()} cores ({model.group(1) if model else "unknown"}), Linux {os.uname().release}; cores busy while staging:
{100 * statistics.median(cpu):.0f} % (median), load average before each repetition {min(loads):.2f}-{max(loads):.2f}. Made by `make bench`.""")


if __name__ == "__main__":
    main()

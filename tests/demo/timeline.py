#!/usr/bin/env python3
"""Reports where a job's time went.

From the times that the job and its submitter wrote down, slurmctld's log and the daemons' logs
(each line with its time). One line an event, in seconds since sbatch was called.
"""
import argparse
import datetime
import glob
import os
import re


def read_times(directory):
    times = {}
    for line in open(os.path.join(directory, "times")):
        name, moment = line.split()
        times.setdefault(name, float(moment))
    return times


def slurmctld_events(logs, job):
    for line in open(os.path.join(logs, "slurmctld.log"), errors="replace"):
        found = re.match(r"\[([\dT:.-]+)\] (.*)", line)
        if found and re.search(rf"\b(Allocate|Started) JobId={job}\b", found.group(2)):
            yield datetime.datetime.fromisoformat(found.group(1)).timestamp(), "slurmctld allocated the nodes"


def daemon_lines(logs, job):
    """(time, node, sentence, fields) of this job's lines in every daemon's log."""
    for path in sorted(glob.glob(os.path.join(logs, "stagecastd-*.log"))):
        node = os.path.basename(path)[len("stagecastd-"):-len(".log")]
        for line in open(path, errors="replace"):
            found = re.match(r"(\d+\.\d+) stagecastd: \w+: (.*)", line)
            if found and re.search(rf"\b(job|stage)[= ]\"?{job}\b", found.group(2)):
                text = found.group(2)
                fields = dict(re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)', text))
                yield float(found.group(1)), node, re.split(r"\s\w+=", text)[0], fields


def statistics(lines):
    """The workers' numbers, wherever a line carries them: {name: [one value a node]}."""
    numbers = {}
    for _, _, _, fields in lines:
        for name, value in fields.items():
            text = value.strip('"').replace('\\"', '"')
            for key, number in re.findall(r'"(\w+)": ?([\d.]+)', text):
                numbers.setdefault(key, []).append(float(number))
            if re.fullmatch(r"[\d.]+", text) and name not in ("job", "rank"):
                numbers.setdefault(name, []).append(float(text))
    return numbers


def rate_bits(rate):
    found = re.fullmatch(r"([\d.]+)([gmk]?)bit", rate)
    return float(found.group(1)) * {"g": 1e9, "m": 1e6, "k": 1e3, "": 1}[found.group(2)] if found else None


def main():
    arguments = argparse.ArgumentParser()
    for name in ("job", "rate", "times", "logs"):
        arguments.add_argument("--" + name, required=True)
    arguments.add_argument("--bytes", type=int, required=True)
    arguments.add_argument("--beside")
    given = arguments.parse_args()

    times = read_times(given.times)
    start = times["submit"]
    events = [(times["submit"], "sbatch is called")]
    if "submitted" in times:
        events.append((times["submitted"], f"submitted: job {given.job}"))
    events += slurmctld_events(given.logs, given.job)
    lines = list(daemon_lines(given.logs, given.job))
    spoken = {}
    for moment, node, sentence, _ in lines:
        spoken.setdefault(sentence, []).append((moment, node))
    for sentence, heard in spoken.items():
        moments = [moment for moment, _ in heard]
        who = heard[0][1] if len(heard) == 1 else f"{len(set(n for _, n in heard))} nodes, to {max(moments) - start:.3f}"
        events.append((min(moments), f"stagecastd: {sentence} ({who})"))
    for name, words in (("script", "the batch script starts"), ("sbcast", "sbcast is called"),
                        ("copied", "sbcast returns"), ("end", "the script ends")):
        if name in times:
            events.append((times[name], words))
    ranks = re.findall(r"began ([\d.]+) ended ([\d.]+)", open(os.path.join(given.times, "out")).read())
    if ranks:
        events.append((min(float(began) for began, _ in ranks), "the first rank runs"))
        events.append((max(float(ended) for _, ended in ranks), "the last rank has hashed its node's copy"))
    for moment, words in sorted(events):
        print(f"  {moment - start:8.3f} s  {words}")

    numbers = statistics(lines)
    wire = given.bytes * 8 / rate_bits(given.rate) if rate_bits(given.rate) else None
    for name in ("announce", "start", "wireup", "transfer", "verify"):
        if name + "_ms" in numbers:
            print(f"  {name:8} {max(numbers[name + '_ms']) / 1000:8.3f} s")
    # From the wired-up group until the last node has a verified copy.
    if "transfer_ms" in numbers and "verify_ms" in numbers:
        seconds = (max(numbers["transfer_ms"]) + max(numbers["verify_ms"])) / 1000
        print(f"  transfer and verify {seconds:.3f} s" + (f" = {seconds / wire:.3f} x wire time ({wire:.3f} s)" if wire else ""))
    for name in ("packets_lost", "packets_repaired"):
        if name in numbers:
            print(f"  {name.replace('_', ' ')}: {sum(numbers[name]):.0f}")
    if given.beside and "copied" in times:
        staged = read_times(given.beside)
        sbcast_s = times["copied"] - start
        staged_s = staged["script"] - staged["submit"]
        print(f"\nfrom sbatch until every node has the file: stagecast {staged_s:.2f} s, sbcast {sbcast_s:.2f} s"
              + (f"; the wire alone {wire:.2f} s" if wire else ""))


main()

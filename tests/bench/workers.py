"""Runs groups of stagecast-worker on the hosts that tests/bench/hosts.bash made.

A group's time is from the moment the last member was wired up to the moment the last receiver held
the verified file, as the workers say.
"""

import json
import os
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "net"))
from member import first_card, key_line, say, table_line  # noqa: E402

NODES = int(os.environ["NODES"])


class Hosts:
    def __init__(self, work, receivers=NODES):
        self.work = work
        self.receivers = receivers
        self.pids = open(f"{work}/pids").read().split()

    def copy(self, rank):
        return f"{self.work}/copy.{rank}"

    def remove_copies(self):
        for rank in range(1, self.receivers + 1):
            shutil.rmtree(self.copy(rank), ignore_errors=True)
            if os.path.exists(self.copy(rank)):
                os.unlink(self.copy(rank))

    def command(self, rank, source, *options):
        part = f"--source={source}" if rank == 0 else f"--dest={self.copy(rank)}"
        return ["nsenter", f"--target={self.pids[rank]}", "--net", os.environ["WORKER"],
                f"--members={self.receivers + 1}", part, "--interface=eth0", *options]

    def run(self, source, *options, before=None):
        """What each member said, the source's first; a failed member ends the program. `before`: in each of them."""
        members = [subprocess.Popen(self.command(rank, source, *options), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, preexec_fn=before) for rank in range(self.receivers + 1)]
        key = key_line()
        for member in members:
            say(member, key)
        cards = [first_card(member) for member in members]
        for member in members if None not in cards else ():
            say(member, table_line(cards))
        said = []
        for rank, member in enumerate(members):
            out, err = member.communicate()
            if member.returncode != 0:
                sys.exit(f"rank {rank}: {err}")
            said.append(json.loads(out.splitlines()[-1]))
        if len({line["digest"] for line in said}) != 1:
            sys.exit("a receiver has other bytes")
        if os.environ.get("VERBOSE"):
            for line in said:
                print(line, file=sys.stderr)
        return said


def seconds(said):
    begun = max(line["held_at"] - line["seconds"] for line in said)
    return max(line["held_at"] for line in said[1:]) - begun


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

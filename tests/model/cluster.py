"""The emulated cluster of the runs.  One emulated cluster, as tests/cluster/lab makes it: commands on it, and its state."""

import json
import os
import random
import re
import subprocess
import sys
import time

from case import NODES

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "cluster", "lib"))

from lab import Lab  # noqa: E402

STAGE_ROOT = "/var/spool/stagecast"
BAD_LINE = re.compile(r"broken:|internal error|assert|terminate called|SIGSEGV|SIGABRT|SIGBUS|AddressSanitizer|runtime error", re.I)


def settings(block):
    """Of 25 seeds one cluster, drawn from their number: options of `lab up`."""
    r = random.Random(f"cluster {block}")
    options = ["--cpus", "32", "--local-size", "900m", "--conf", "AuthInfo=cred_expire=10", "--stagecast", "StageTimeout=60",
               "--stagecast", "MaxStagesPerNode=64"]
    if r.random() < .5:
        options += ["--stagecast", "CacheDir=/var/spool/stagecast-cache", "--stagecast", "CacheSize=200M"]
    if r.random() < .3:
        options += ["--loss", "1%"]
    if r.random() < .2:
        options += ["--mtu", "9000"]
    if r.random() < .2:
        options += ["--stagecast", "RateMax=60mbit"]
    if r.random() < .15:
        options += ["--local", "ext4,xfs,btrfs"]
    if r.random() < .2:
        options += ["--conf", "PrologFlags=Alloc"]
    return options


class Cluster(Lab):
    def __init__(self, block):
        self.options = settings(block)
        super().__init__(f"model{os.getpid()}-{block}", len(NODES), self.options)
        for name in ("snapshot.py", "probe.py"):
            self.copy(f"{HERE}/{name}", f"model/{name}")
        for user in ("alice", "bob"):
            self.shell("login", "srun -Q -N3 --stage-file=/srv/host.sh true", user)
        time.sleep(1)
        self.daemons = {node: self.daemon(node) for node in NODES}
        self.read = {}
        self.log_lines()

    def snapshots(self, host, places):
        """{place: what is there}, as root on one node."""
        if not places:
            return {}
        command = ["python3", "-B", "/srv/model/snapshot.py"]
        done = subprocess.run(self.entering(host) + command, input=json.dumps(places).encode(), stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def daemon(self, node):
        """(process, descriptors) of its stagecastd, as the node numbers it; None if there is none."""
        code, said = self.shell(node, 'pid=$(cat /run/lab/stagecastd.pid); kill -0 "$pid" && '
                                      'echo "$pid $(ls /proc/$pid/fd | wc -l)"')
        return tuple(map(int, said.split())) if code == 0 else None

    def restart_daemon(self, node):
        self.start_daemon(node)
        self.shell(node, "for i in {1..60}; do /srv/stagecast/bin/stagecast status > /dev/null 2>&1 && break; sleep 0.1; done")
        self.daemons[node] = self.daemon(node)

    def log_lines(self):
        """What the daemons wrote since the last look."""
        found = []
        for node in NODES:
            path = f"{self.directory}/log/stagecastd-{node}.log"
            with open(path, errors="replace", encoding="utf-8") as file:
                file.seek(self.read.get(node, 0))
                found += [f"{node}: {line}" for line in file.read().splitlines()]
                self.read[node] = file.tell()
        return found

    def errors_of_slurmd(self, most=4):
        """The last ones of each node, as text."""
        said = ""
        for node in NODES:
            with open(f"{self.directory}/log/slurmd-{node}.log", errors="replace", encoding="utf-8") as file:
                said += "".join([f"{node} {line}" for line in file if "error:" in line][-most:])
        return said

    def faults(self):
        """What is not as it was when the cluster came up, once every job has ended."""
        wrong = self.left_behind()
        for _ in range(50):
            if not wrong:
                break
            time.sleep(.3)
            wrong = self.left_behind()
        for node in NODES:
            now = self.daemon(node)
            if now is None or self.daemons[node] is None or now[0] != self.daemons[node][0]:
                wrong.append(f"{node}: stagecastd is gone, or another process")
                self.restart_daemon(node)
            elif now[1] > self.daemons[node][1] + 3:
                wrong.append(f"{node}: stagecastd has {now[1]} descriptors, at first {self.daemons[node][1]}")
        return wrong + [line for line in self.log_lines() if BAD_LINE.search(re.sub(r"/\S*|'[^']*'", "", line))]

    def left_behind(self):
        wrong = []
        _, said = self.shell("login", "sinfo -h -N -o '%N %T (%E)'; squeue -h -o 'job %A %T'")
        wrong += [line for line in said.splitlines() if " idle (" not in line]
        for node in NODES:
            _, said = self.shell(node, f"find {STAGE_ROOT} /run/stagecast/jobs -mindepth 1; find /tmp /var/tmp -mindepth 1 "
                                       r"\( -name '.*stagecast*' -o -name 'm[0-9]*.*' \); ps -eo comm= | grep stagecast-work")
            # (each user's spare worker may wait for the next job)
            lines = [line for line in said.splitlines() if line != "stagecast-worke"]
            # (nor is the empty directory of the spare PMIx host, which waits too, left behind)
            spare = [line for line in lines if re.fullmatch(STAGE_ROOT + r"/\.host\.\d+", line)][:1]
            wrong += [f"{node}: {line}" for line in lines if line not in spare]
        return wrong

"""What do the runs happen on?  One emulated cluster, as tests/cluster/lab makes it: commands on it, and its state."""

import json
import os
import random
import re
import subprocess
import threading
import time

from case import NODES

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.join(HERE, "..", "cluster", "lab")
STAGE_ROOT = "/var/spool/stagecast"
BAD_LINE = re.compile(r"broken:|internal error|assert|terminate called|SIGSEGV|SIGABRT|SIGBUS|AddressSanitizer|runtime error", re.I)
PATIENCE = 150  # seconds until a job that should end is called hanging


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
        options += ["--conf", "PrologFlags=Alloc"]
    return options


class Cluster:
    def __init__(self, block):
        self.options = settings(block)
        self.lab = [LAB, "--name", f"model{os.getpid()}"]
        self.alone = threading.Lock()
        made = subprocess.run(self.lab + ["up", str(len(NODES)), "--owner", str(os.getpid())] + self.options,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if made.returncode:
            raise RuntimeError("the lab did not come up: " + made.stdout + made.stderr)
        self.directory = subprocess.run(self.lab + ["path"], capture_output=True, text=True, check=True).stdout.strip()
        os.mkdir(self.directory + "/srv/model")
        for name in ("snapshot.py", "probe.py"):
            with open(f"{HERE}/{name}", encoding="ascii") as file, \
                    open(f"{self.directory}/srv/model/{name}", "w", encoding="ascii") as copy:
                copy.write(file.read())
        for user in ("alice", "bob"):
            self.shell("login", "srun -Q -N3 --stage-file=/srv/host.sh true", user)
        time.sleep(1)
        self.daemons = {node: self.daemon(node) for node in NODES}
        self.read = {}
        self.log_lines()

    def down(self):
        subprocess.run(self.lab + ["down"], stdin=subprocess.DEVNULL, check=False)

    def shell(self, host, script, user="root", directory="/", seconds=PATIENCE):
        """Runs a bash script there; (exit code, what it printed)."""
        command = self.lab + (["exec"] if host == "login" else ["on", host]) + ["-u", user, "-d", directory]
        done = subprocess.run(command + ["timeout", "-k", "5", str(seconds), "bash", "-s"], input=os.fsencode(script),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, os.fsdecode(done.stdout)

    def snapshots(self, host, places):
        """{place: what is there}, as root on one node."""
        if not places:
            return {}
        command = self.lab + ["on", host, "python3", "-B", "/srv/model/snapshot.py"]
        done = subprocess.run(command, input=json.dumps(places).encode(), stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def daemon(self, node):
        """(process, descriptors) of its stagecastd, as the node numbers it; None if there is none."""
        code, said = self.shell(node, 'pid=$(cat /run/lab/stagecastd.pid); kill -0 "$pid" && '
                                      'echo "$pid $(ls /proc/$pid/fd | wc -l)"')
        return tuple(map(int, said.split())) if code == 0 else None

    def start_daemon(self, node):
        subprocess.run(self.lab + ["start", node, "stagecastd"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
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
                self.start_daemon(node)
            elif now[1] > self.daemons[node][1] + 3:
                wrong.append(f"{node}: stagecastd has {now[1]} descriptors, at first {self.daemons[node][1]}")
        return wrong + [line for line in self.log_lines() if BAD_LINE.search(re.sub(r"/\S*|'[^']*'", "", line))]

    def left_behind(self):
        wrong = []
        _, said = self.shell("login", "sinfo -h -N -o '%N %T'; squeue -h -o 'job %A %T'")
        wrong += [line for line in said.splitlines() if not line.endswith(" idle")]
        for node in NODES:
            _, said = self.shell(node, f"find {STAGE_ROOT} /run/stagecast/jobs -mindepth 1; find /tmp /var/tmp -mindepth 1 "
                                       r"\( -name '.*stagecast*' -o -name 'm[0-9]*.*' \); ps -eo comm= | grep stagecast-work")
            # (each user's spare worker may wait for the next job)
            wrong += [f"{node}: {line}" for line in said.splitlines() if line != "stagecast-worke"]
        return wrong

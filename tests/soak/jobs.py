"""The jobs of the soak, and whether each ended as it should.

Jobs of two users: one to all nodes, batch, srun or array, shared and fresh inputs, steps with files
of their own; some are cancelled, some lack an input.
"""

import os
import random
import re
import subprocess
import time

USERS = {"alice": 2001, "bob": 2002}


def digest(path):
    """As `check` makes it."""
    command = 'cat "$0"'
    if os.path.isdir(path):
        command = 'cd "$0" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum'
    done = subprocess.run(["bash", "-c", f"({command}) | sha256sum", path], capture_output=True, text=True, check=True)
    return done.stdout[:16]


class Pool:
    """Inputs that many jobs share: (path on the hosts, digest, whether an archive)."""

    def __init__(self, lab, seed):
        self.lab, self.of = lab, {}
        r = random.Random(f"pool {seed}")
        for user, uid in USERS.items():
            here = f"/home/{user}/pool"
            os.makedirs(lab.directory + here)
            inputs = [self.add_file(f"{here}/file{i}", r) for i in range(10)]
            for i in range(3):
                tree = f"{here}/tree{i}"
                os.makedirs(f"{lab.directory}{tree}/part")
                for k in range(r.randint(3, 30)):
                    self.add_file(f"{tree}/part/f{k}" if k % 2 else f"{tree}/f{k}", r, 15)
                inputs.append((tree, digest(lab.directory + tree), False))
                for packing, ending in (("-z", "tgz"), ("-J", "tar.xz")):
                    path = f"{here}/pack{i}.{ending}"
                    subprocess.run(["tar", packing, "-C", lab.directory + tree, "-cf", lab.directory + path, "."], check=True)
                    inputs.append((path, digest(lab.directory + tree), True))
            os.makedirs(f"{lab.directory}/home/{user}/jobs")
            subprocess.run(["chown", "-R", "-h", f"{uid}:{uid}", f"{lab.directory}/home/{user}"], check=True)
            self.of[user] = inputs

    def add_file(self, path, r, bits=22):
        with open(self.lab.directory + path, "wb") as file:
            file.write(r.randbytes(int(2 ** r.uniform(0, bits))))
        return path, digest(self.lab.directory + path), False


class Job:
    def __init__(self, number, pool, nodes, staged):
        r = random.Random(f"job {number}")
        self.name, self.user = f"soak{number}", r.choice(list(USERS))
        self.home = f"/home/{self.user}/jobs"
        self.kind = r.choices(["sbatch", "srun", "array"], [6, 3, 1])[0]
        self.nodes = r.randint(1, nodes)
        self.tasks = r.randint(2, 4) if self.kind == "array" else 1
        self.cancel_after = r.uniform(0, 2) if r.random() < .08 else None
        self.lacks = staged and self.cancel_after is None and r.random() < .05
        self.options, self.checks, self.own, self.own_checks = [], [], [], []
        steps = self.kind != "srun" and r.random() < .3
        if staged:
            for i in range(r.choices([1, 2, 3, 5], [4, 3, 2, 1])[0]):
                self.add_input(r, pool, i, self.options, self.checks, self.kind != "array")
            if steps:
                self.add_input(r, pool, 10, self.own, self.own_checks, False)
            if self.lacks:
                self.options.append(f"--stage-file={self.home}/nowhere:x:late")
        self.has_step = steps

    def add_input(self, r, pool, i, options, checks, may_be_absolute):
        path, digest_, packed = r.choice(pool.of[self.user])
        if r.random() < .3:
            path, digest_, packed = pool.add_file(f"{self.home}/{self.name}.in{i}", r)
            os.chown(pool.lab.directory + path, USERS[self.user], USERS[self.user])
        flags = ["extract"] if packed else []
        dst = f"d{i}/input"
        if may_be_absolute and r.random() < .2:
            dst = f"/var/tmp/{self.name}.{i}"
            flags.append("temp")
        options.append(f"--stage-file={path}:{dst}" + (":" + "+".join(flags) if flags else ""))
        checks.append(f"{dst}:{digest_}")

    def script(self):
        body = [f"srun /srv/soak/check job {' '.join(self.checks)}"]
        if self.has_step:
            body.append(f"srun {' '.join(self.own)} /srv/soak/check step {' '.join(self.own_checks)}")
        return "\n".join(["#!/bin/bash"] + body + ["echo END"])

    def output(self, lab, task):
        try:
            with open(f"{lab.directory}{self.home}/{self.name}.{task}", encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def run(self, lab, ended):
        """Submits it and waits; what is wrong with what became of it. `ended` knows how jobs ended, from Slurm's log."""
        where = f"-J {self.name} -N{self.nodes} --ntasks-per-node=1 {' '.join(self.options)}"
        if self.kind == "srun":
            command = f"exec srun {where} /srv/soak/check job {' '.join(self.checks)} > {self.name}.0 2>&1"
        else:
            array = f"-a 0-{self.tasks - 1} -o {self.name}.%a" if self.kind == "array" else f"-o {self.name}.0"
            command = f"cat > {self.name}.sh <<'END'\n{self.script()}\nEND\nsbatch --parsable {array} {where} {self.name}.sh"
        if self.cancel_after is not None:
            command = f"(sleep {self.cancel_after:.2f}; scancel -n {self.name}) > /dev/null 2>&1 &\n{command}"
        code, said = lab.shell("login", command, self.user, self.home)
        if code and self.kind != "srun":
            return [f"sbatch exits with {code}: {said}"]
        until = time.monotonic() + 120
        while len(ended.get(self.name, [])) < self.tasks and time.monotonic() < until:
            if self.cancel_after is not None and self.kind == "srun" and code:
                break  # it may have been cancelled before there was a job
            time.sleep(.2)
        return self.verdict(lab, ended.get(self.name, []))

    def verdict(self, lab, states):
        wrong = []
        if len(states) < self.tasks and self.cancel_after is None:
            return [f"{len(states)} of {self.tasks} jobs ended"]
        for task in range(self.tasks):
            text = self.output(lab, task)
            good = len(re.findall(r"^GOOD \S+ job", text, re.M))
            own = len(re.findall(r"^GOOD \S+ step", text, re.M))
            wrong += re.findall(r"^BAD .*", text, re.M)
            if self.cancel_after is not None:
                continue
            if self.lacks and (good or "No such file" not in text):
                wrong.append("it ran, or failed without the sentence, though a file is missing: " + text[-300:])
            if not self.lacks and (good != self.nodes or own != self.nodes * self.has_step):
                wrong.append(f"{good} and {own} of {self.nodes} tasks found their files: {text[-400:]}")
        want = "FAILED" if self.lacks else "COMPLETED"
        if self.cancel_after is None and any(state != want for state in states):
            wrong.append(f"jobs are {states}, not {want}")
        return wrong

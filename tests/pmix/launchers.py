"""The same program where another launcher hosts PMIx, or none does."""

import json
import os
import shutil
import subprocess
import time

import world
from node import ALICE, ANY, PROBE, must, must_agree, outcome, suite
from world import BOB


def run_as(uid, command, **more):
    def become():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)

    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp"}
    return subprocess.run(command, preexec_fn=become, env=environment, capture_output=True,
                          text=True, errors="replace", timeout=60, cwd="/", **more)


def lines_of(done):
    return [dict(json.loads(line), status=0, stderr="")
            for line in done.stdout.splitlines() if line.startswith("{")]


@suite.test("mpirun: the same program, and a key that only the own user can open")
def _():
    done = run_as(ALICE, ["mpirun", "--oversubscribe", "-n", "4", PROBE, "--key"])
    got = lines_of(done)
    must(done.returncode == 0 and len(got) == 4, done)
    must_agree(got, context=ANY)
    must(len({one.get("key") for one in got}) == 1 and got[0].get("key"), got)
    credential = got[0]["credential"]
    for uid, opens in ((ALICE, True), (BOB, False), (0, False)):
        unmunge = run_as(uid, ["unmunge"], input=credential)
        must((unmunge.returncode in (0, 17)) == opens, uid, unmunge)


@suite.test("mpirun of one, twice: another group each time")
def _():
    draws = set()
    for _ in range(2):
        done = run_as(ALICE, ["mpirun", "--oversubscribe", "-n", "1", PROBE])
        got = lines_of(done)
        must_agree(got, context=ANY)
        draws.add(got[0]["draw"])
    # Open MPI 5's PRRTE gives every launch the same context id.
    must(len(draws) == 2, "both draw the same group", draws)


@suite.test("no launcher: an error message and no wait")
def _():
    done = run_as(ALICE, [PROBE, "--wait-ms=5000"])
    must(done.returncode == 1 and "error" in done.stdout, done)
    return done.stdout.strip()


@suite.test("a host file: eight members, one of which is killed and starts again")
def _():
    with open("/tmp/hosts", "w") as file:
        file.write("127.0.0.1\n" * 8)
    base = ["--hosts=/tmp/hosts", "--port=7001", "--secret=s3cret", "--wait-ms=30000"]

    def member(rank):
        return subprocess.Popen([PROBE, *base, f"--rank={rank}"], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    members = [member(rank) for rank in range(7)]
    time.sleep(0.5)
    members[3].kill()
    outcome(members[3])
    members[3] = member(3)
    members.append(member(7))
    must_agree([outcome(one, 40) for one in members], context=None)


LAB = os.path.join(world.HERE, "..", "cluster", "lab")


def lab(*command, seconds=120):
    return subprocess.run([LAB, "--name", "pmix", *command], capture_output=True, text=True,
                          errors="replace", timeout=seconds)


def srun(direct):
    return lab("exec", "-u", "alice", "env", f"SLURM_PMIX_DIRECT_CONN={direct}", "srun",
               "--mpi=pmix", "-N3", "/srv/pmix-probe", "--key", "--wait-ms=5000",
               "--stay-ms=1000")


def must_share_key(done):
    must(done.returncode == 0, done)
    got = lines_of(done)
    must_agree(got, context=None)
    must(len({one.get("key") for one in got}) == 1 and got[0].get("key"), got)


@suite.test("srun --mpi=pmix on a real cluster, and a key through its munge")
def _():
    up = lab("up", "3", "--bare", "--owner", str(os.getpid()))
    try:
        must(up.returncode == 0, up)
        shutil.copy(PROBE, os.path.join(lab("path").stdout.strip(), "srv", "pmix-probe"))
        # Slurm's own race (pmix_directory.cpp, located()) may end a launch over its direct
        # connections in a fence without end. That, and only that, is tried again.
        for attempt in range(1, 6):
            done = srun("true")
            if done.returncode == 0 or "it waits in PMIx_Fence" not in done.stdout:
                break
        must_share_key(done)
        must_share_key(srun("false"))
        return f"direct connections: attempt {attempt}"
    finally:
        lab("down")

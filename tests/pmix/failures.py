"""Members fail, hosts crash, or no host answers: the waiting members get an error in time."""

import os
import subprocess
import time

from daemons import CONNECTED, FAILED, FENCE_UP, Host, sentence, start_worker
from node import ALICE, HOST, PROBE, Job, hosts, must, outcome, suite, worker


@suite.test("a worker killed in the fence releases the others at once")
def _():
    with hosts(3) as started:
        workers = [worker(host, "--wait-ms=60000") for host in started]
        job = Job(started, workers)
        victim = workers[1]
        failed_at = []

        def watch(rank, message):
            if message[0] == FENCE_UP and rank == 1:
                job.parts.clear()
                victim.kill()
                victim.wait()
                failed_at.append(time.monotonic())
                job.abort()

        job.serve(watch)
        got = [outcome(workers[0]), outcome(workers[2])]
        must(failed_at, "the victim never came to the fence")
        for one in got:
            must("another member of the job is lost" in one.get("error", ""), got)


@suite.test("a member that enters the fence after that gets the error at once, too")
def _():
    with hosts(2) as started:
        for host in started:
            host.send(4)
        late = worker(started[0], "--wait-ms=60000")
        got = outcome(late)
        must(got["status"] == 1 and "another member of the job is lost" in got["error"], got)


@suite.test("an unanswered fence ends by the worker's own time-out")
def _():
    with hosts(2) as started:
        lonely = worker(started[0], "--wait-ms=1500")
        got = outcome(lonely)
        must(got.get("error") == "exchanging cards by PMIx: no answer within 1.5 s; it waits "
             "in PMIx_Fence", got)


@suite.test("a host that crashes in the fence ends its worker with an error message")
def _():
    with hosts(2) as started:
        orphan = worker(started[0], "--wait-ms=5000")
        started[0].expect(CONNECTED)
        started[0].expect(FENCE_UP)
        started[0].process.kill()
        got = outcome(orphan)
        must(got["status"] == 1 and got.get("error"), got)
        return got["error"]


@suite.test("a worker's megabytes stay its own problem")
def _():
    with hosts(2) as started:
        workers = [worker(started[0], "--ballast=10000000"),
                   worker(started[1], "--wait-ms=2000")]
        heard = []

        def watch(rank, message):
            heard.append((rank, message[0], len(message[1])))

        job = Job(started, workers, deadline=8)
        job.serve(watch)
        got = [outcome(one) for one in workers]
        must(got[0]["status"] == 1 and "error" in got[0], got)
        must(not [h for h in heard if h[1] == FENCE_UP and h[0] == 0], heard)
        must(started[0].process.poll() is None, "the host died of it")


@suite.test("the host ends with its daemon, as a spare and in a job")
def _():
    with Host(HOST) as spare:
        spare.ready()
        spare.socket.close()
        must(spare.process.wait(5) == 0, spare.process.returncode)
    with hosts(1) as (host,):
        host.socket.close()
        must(host.process.wait(5) == 0, host.process.returncode)


@suite.test("without munged the host reports the error")
def _():
    os.rename("/run/munge/munge.socket.2", "/run/munge/away")
    try:
        with Host(HOST) as host:
            got = host.receive(20)
            must(got is not None and got[0] == FAILED, got)
            must("start munged on this node" in sentence(got), sentence(got))
            must(host.process.wait(5) == 1, host.process.returncode)
            return sentence(got)
    finally:
        os.rename("/run/munge/away", "/run/munge/munge.socket.2")


@suite.test("malformed messages end the host with an error message")
def _():
    for message in (b"\x01\x01", b"\x02\x05", b"\x01\x63", b"x" * 300):
        with Host(HOST, psec="native") as host:
            host.ready()
            host.socket.send(message)
            got = host.receive(10)
            must(got is not None and got[0] == FAILED, got)
            must(host.process.wait(5) == 1, host.process.returncode)
    with Host(HOST, psec="native") as host:
        host.ready()
        host.adopt(0, 0, "stagecast.root", 0, ["n0"])
        must(host.receive(10)[0] == FAILED, "it served root")


@suite.test("wrong arguments are refused")
def _():
    for arguments in ([], ["--tmpdir=relative"], ["--tmpdir=/tmp", "--psec=none"]):
        done = subprocess.run([HOST, *arguments], capture_output=True, timeout=10)
        must(done.returncode == 64 and done.stderr, done)


@suite.test("without a host: an error message and no wait")
def _():
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp"}
    got = outcome(start_worker([PROBE, "--wait-ms=5000"], environment, ALICE, ALICE))
    must(got["status"] == 1 and "error" in got, got)
    return got["error"]

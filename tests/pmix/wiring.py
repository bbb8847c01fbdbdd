"""The way it should be."""

import os
import time

from daemons import CONNECTED, FENCE_UP, Host
from node import (ALICE, HOST, Job, hosts, must, must_agree, outcome, suite, wire_up,
                  worker)


@suite.test("four nodes wire up as the user, with a context id")
def _():
    with hosts(4) as started:
        got = wire_up(started)
        must_agree(got)
        must(all(one["uid"] == ALICE for one in got), got)
        for host in started:
            must(host.heard[:3] == ["READY", "ENV", "CONNECTED"], host.heard)
            must(host.status("Uid") == [str(ALICE)] * 4, host.status("Uid"))
            must(host.status("Gid") == [str(ALICE)] * 4, host.status("Gid"))
            must(host.status("Groups") == [str(ALICE)], host.status("Groups"))
            must(int(host.status("CapPrm")[0], 16) == 0, host.status("CapPrm"))
            must(host.status("NoNewPrivs") == ["1"], host.status("NoNewPrivs"))
            must(os.listdir(host.directory) == [], os.listdir(host.directory))
        return f"wire-up {max(one['open_ms'] + one['collect_ms'] for one in got):.0f} ms"


@suite.test("the host finalizes, and exits on DONE")
def _():
    with hosts(2) as started:
        must_agree(wire_up(started))
        for host in started:
            while host.heard[-1] != "FINALIZED":
                must(host.receive(5.0) is not None, "no FINALIZED", host.heard)
            host.send(5)
            must(host.process.wait(5) == 0, "exit status", host.process.returncode)
            must(host.process.stderr.read() == b"", "it wrote to stderr")


@suite.test("a group of one")
def _():
    with hosts(1) as started:
        must_agree(wire_up(started))


@suite.test("without a group there is no context id")
def _():
    with hosts(2) as started:
        must_agree(wire_up(started, "--no-group"), context=None)


@suite.test("ten jobs in a row, each on new hosts, and two at once")
def _():
    for _ in range(5):
        with hosts(2) as one, hosts(2) as two:
            workers = [[worker(host) for host in job] for job in (one, two)]
            sessions = set()
            for job, theirs in zip((one, two), workers):
                Job(job, theirs).serve()
                got = [outcome(process) for process in theirs]
                must_agree(got)
                sessions.add(got[0]["session"])
            must(len(sessions) == 2, sessions)


@suite.test("16 nodes on one machine")
def _():
    with hosts(16) as started:
        must_agree(wire_up(started, "--wait-ms=30000"))


@suite.test("a job of 4096 nodes is taken, and its worker joins")
def _():
    with Host(HOST) as host:
        host.ready()
        began = time.monotonic()
        nodes = [f"node{i:05}" for i in range(4096)]
        host.adopt(ALICE, ALICE, "stagecast.big.0.0", 4000, nodes)
        host.read_environment()
        taken = time.monotonic() - began
        lonely = worker(host, "--wait-ms=3000")
        for wanted in (CONNECTED, FENCE_UP):
            host.expect(wanted)
        got = outcome(lonely)
        must("exchanging cards by PMIx: no answer" in got.get("error", ""), got)
        return f"taken in {taken * 1000:.0f} ms, {host.status('VmRSS')[0]} kB"

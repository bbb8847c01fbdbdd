"""Other users of the node, who may connect to loopback as they like."""

import os
import socket
import subprocess
import time

from daemons import FAILED, Host, ended, sentence, start_worker
from node import ALICE, HOST, hosts, must, must_agree, outcome, suite, wire_up, worker
from world import BOB


def stderr_of(host):
    host.socket.close()
    host.process.wait(5)
    return host.process.stderr.read().decode()


@suite.test("another user's bad logins change nothing and are counted")
def _():
    with hosts(2) as started:
        for _ in range(4):
            got = outcome(worker(started[1], "--wait-ms=3000", uid=BOB))
            must(got["status"] == 1 and "UNREACH" in got["error"], got)
        must_agree(wire_up(started))
        log = stderr_of(started[1])
        must(f"uid={BOB} count=1" in log and "a connection of another user" in log, log)
        must(stderr_of(started[0]) == "", "no connection reached the other")


@suite.test("silent connections of another user change nothing, however many")
def _():
    with hosts(2) as started:
        script = ("import socket, sys, time\n"
                  "held = [socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
                  "        for _ in range(200)]\n"
                  "print('there', flush=True)\n"
                  "time.sleep(30)\n")
        other = start_worker(["/usr/bin/python3", "-c", script, str(started[0].port)],
                                {"PATH": "/usr/bin:/bin"}, BOB, BOB)
        try:
            must(other.stdout.readline() == "there\n", "the other user could not connect")
            must_agree(wire_up(started))
        finally:
            other.kill()
            ended(other, 5)
        log = stderr_of(started[0])
        must(f"uid={BOB} count=100" in log and "count=2\n" not in log, log)


@suite.test("root, and connections to a spare, are refused as well")
def _():
    with hosts(1) as (host,), Host(HOST) as spare:
        with socket.create_connection(("127.0.0.1", host.port)) as visitor:
            visitor.settimeout(5)
            must(visitor.recv(1) == b"", "root got through")
        must_agree(wire_up([host]))
        spare.ready()


def listeners(pid):
    """Ports that listen on the node's own loopback, with the process that holds each."""
    shown = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    return [line.split()[3] for line in shown.splitlines() if f"pid={pid}," in line]


@suite.test("the PMIx listener itself is out of reach")
def _():
    with hosts(1) as (host,):
        must(listeners(host.process.pid) == [f"127.0.0.1:{host.port}"],
             listeners(host.process.pid))


@suite.test("a spare runs as nobody on the node, and its threads keep no right in a job")
def _():
    with Host(HOST) as spare:
        must(spare.ready(), "it has no gate")
        must(spare.status("Uid") == ["65534"] * 4 and spare.status("Gid") == ["65534"] * 4,
             spare.status("Uid"), spare.status("Gid"))
        must(spare.status("Groups") == [], spare.status("Groups"))
        setgid_setuid = 0xc0
        must(int(spare.status("CapPrm")[0], 16) == setgid_setuid, spare.status("CapPrm"))
        spare.adopt(ALICE, ALICE, "stagecast.spare.0.0", 0, ["n0"])
        spare.read_environment()
        tasks = os.listdir(f"/proc/{spare.process.pid}/task")
        must(len(tasks) > 1, "libpmix has no threads any more")
        for task in tasks:
            with open(f"/proc/{spare.process.pid}/task/{task}/status") as file:
                said = dict(line.split(":", 1) for line in file)
            must(int(said["CapPrm"], 16) == 0 and int(said["CapEff"], 16) == 0, task, said)
            must(said["Uid"].split() == [str(ALICE)] * 4, task, said)


@suite.test("no gate: three bad logins are noticed, a new host serves")
def _():
    with hosts(2, "--no-gate") as started:
        for _ in range(6):
            other = worker(started[0], "--wait-ms=1500", uid=BOB)
            must(outcome(other)["status"] != 0, "bob is in")
        got = started[0].receive(10)
        reported = sentence(got) or f"it died: {started[0].process.poll()}"
        must((got and got[0] == FAILED) or started[0].process.poll() is not None,
             "neither reported nor dead", started[0].heard)
    with hosts(2, "--no-gate") as started:
        must_agree(wire_up(started))
    return reported


@suite.test("no gate: a silent connection is noticed, a new host serves")
def _():
    with hosts(1, "--no-gate") as (host,):
        with socket.create_connection(("127.0.0.1", host.port)):
            got = host.receive(10)
            must(got is not None and got[0] == FAILED, got)
            note = sentence(got)
            must(host.process.wait(5) == 0, host.process.returncode)
    with hosts(1, "--no-gate") as started:
        must_agree(wire_up(started))
    return note


@suite.test("no gate: a stuck host ends with its daemon all the same")
def _():
    with hosts(1, "--no-gate") as (host,):
        with socket.create_connection(("127.0.0.1", host.port)):
            time.sleep(0.2)
            host.socket.close()
            must(host.process.wait(5) == 0, host.process.returncode)


@suite.test("the user's other processes can't look into the host")
def _():
    with hosts(1) as (host,):
        for name in ("environ", "mem", "maps"):
            done = subprocess.run(
                ["head", "-c1", f"/proc/{host.process.pid}/{name}"], capture_output=True,
                preexec_fn=lambda: (os.setgroups([]), os.setgid(ALICE), os.setuid(ALICE)))
            must(done.returncode != 0, name)

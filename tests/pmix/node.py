"""Hosts and workers as on the nodes of a job; and what must be true of them."""

import json
from contextlib import ExitStack, contextmanager

import world
from daemons import Host, Job, ended, start_worker
from world import ALICE, Suite

suite = Suite()
HOST, PROBE = world.place("stagecast-pmix-host"), world.place("pmix-probe")
job_number = iter(range(1, 1000))


@contextmanager
def hosts(count, *arguments, uid=ALICE, psec="munge"):
    """As many hosts, ready and with a job."""
    with ExitStack() as stack:
        started = [stack.enter_context(Host(HOST, *arguments, psec=psec)) for _ in range(count)]
        for host in started:
            must(host.ready() == ("--no-gate" not in arguments), "the gate is not right")
        adopt(started, uid)
        yield started


def adopt(started, uid=ALICE):
    nodes = [f"n{rank}" for rank in range(len(started))]
    name = f"stagecast.{next(job_number)}.4294967295.0"
    for rank, host in enumerate(started):
        host.adopt(uid, uid, name, rank, nodes)
    for host in started:
        host.read_environment()


def worker(host, *arguments, uid=ALICE):
    return start_worker([PROBE, *arguments], host.environment, uid, uid)


def outcome(process, seconds=15):
    out, err = ended(process, seconds)
    line = out.strip().splitlines()[-1] if out.strip() else "{}"
    try:
        return dict(json.loads(line), status=process.returncode, stderr=err)
    except ValueError:
        return {"status": process.returncode, "stdout": out, "stderr": err}


def must(condition, *facts):
    if not condition:
        raise AssertionError(" ".join(str(fact) for fact in facts))


def must_agree(outcomes, context=4711):
    for rank, got in enumerate(sorted(outcomes, key=lambda o: o.get("rank", -1))):
        must(got["status"] == 0, outcomes)
        must(got["rank"] == rank and got["size"] == len(outcomes), got)
        must(got["context"] == context, outcomes)
        must(got["stderr"] == "", got)
    must(len({got["session"] for got in outcomes}) == 1, "sessions differ", outcomes)
    must(len({got["draw"] for got in outcomes}) == 1, "draws differ", outcomes)


def wire_up(started, *arguments):
    workers = [worker(host, *arguments) for host in started]
    Job(started, workers).serve()
    return [outcome(one) for one in workers]

"""Runs a case.  Plays it on a cluster and gathers what its tasks and its nodes say."""

import json
import os
import re
import threading
import time
from dataclasses import dataclass, field

import script
from case import HOME_OF, NODES
from snapshot import snapshot


@dataclass
class Seen:
    trees: dict = field(default_factory=dict)  # source -> what a task should find of it; None: nothing
    before: dict = field(default_factory=dict)  # node -> place -> tree
    after: dict = field(default_factory=dict)
    left: dict = field(default_factory=dict)  # node -> names of the run that are there afterwards
    passed_on: dict = field(default_factory=dict)  # node -> entries of cleanup lists of jobs that are not over
    codes: list = field(default_factory=list)  # of each launcher
    said: list = field(default_factory=list)  # what each launcher, and its job, wrote
    jobs: list = field(default_factory=list)  # of each sbatch: [(state, exit code)]
    tasks: dict = field(default_factory=dict)  # tag -> [what probe.py wrote], of each task's last life
    stuck: str = ""
    hit: bool = False  # the disturbance came to something


def places_of(case):
    specs = [spec for spec in case.specs + case.own if spec.is_absolute()]
    return sorted({case.where(spec) for spec in specs})


def expected_trees(cluster, case):
    base, trees = cluster.directory + case.base(), {}
    for number, source in enumerate(case.sources):
        path = f"{base}/in/s{number}/{source.name}"
        if source.is_bad():
            trees[number] = None
        else:
            trees[number] = snapshot(os.path.realpath(path) if source.kind == "link" else path)
            if source.kind in ("tar", "zip"):
                trees[number, "unpacked"] = packed(snapshot(f"{base}/in/s{number}/in"), source.way)
    return trees


def packed(tree, way):
    """What a tar that was made this way knows of a tree."""
    for record in (tree or {}).values():
        if "--xattrs" not in way and "notes" in record:
            record["notes"] = {}
        if "--hard-dereference" in way:
            record["names"] = 1
        if "-S" not in way.split():  # zeros are stored
            record["blocks"] = record["size"] // 512 + 8
    return tree


def prepare(cluster, case, seen):
    base = cluster.directory + case.base()
    os.makedirs(base)
    os.chown(base, HOME_OF[case.user], HOME_OF[case.user])
    code, said = cluster.shell("login", script.of_sources(case), case.user, case.base())
    if code:
        raise ValueError("the sources can't be made: " + said)
    for tag, specs, _ in case.requests():
        look = {"places": sorted({case.where(spec) for spec in specs}),
                "programs": sorted({case.where(spec) for spec in specs if "libs" in spec.flags})}
        with open(f"{base}/look.{tag}.json", "w", encoding="ascii") as file:
            json.dump(look, file)
    for node in NODES:
        if script.of_prior(case, node):
            code, said = cluster.shell(node, "set -e\n" + script.of_prior(case, node))
            if code:
                raise ValueError("what should stand there can't be made: " + said)
        seen.before[node] = cluster.snapshots(node, places_of(case))
    seen.trees = expected_trees(cluster, case)


def launch(cluster, case, number, seen):
    code, said = cluster.shell("login", script.of_launch(case, number), case.user, case.base())
    seen.codes[number], seen.said[number] = code, said


def disturb(cluster, case, seen):
    kind, node = case.disturbance, case.node
    if kind in ("cancel", "requeue"):
        time.sleep(case.delay)
        verb = f"scancel -n m{case.seed}" if kind == "cancel" else \
            f"for i in {{1..40}}; do job=$(squeue -h -n m{case.seed} -o %A); [ -z \"$job\" ] || break; sleep 0.1; done; scontrol requeue $job"
        seen.hit = cluster.shell("login", verb)[0] == 0
    elif kind == "worker-killed":
        seen.hit = cluster.shell(node, "for i in {1..100}; do pkill -KILL stagecast-work && exit 0; sleep 0.03; done; exit 1")[0] == 0
    elif kind in ("daemon-killed", "daemon-paused"):
        time.sleep(case.delay)
        pid = "$(cat /run/lab/stagecastd.pid)"
        if kind == "daemon-killed":
            cluster.shell(node, f"kill -KILL {pid}")
        else:
            cluster.shell(node, f"kill -STOP {pid}; sleep 2; kill -CONT {pid}")
        seen.hit = True


def change(cluster, case, seen):
    """Between submission and start, where the job was held."""
    text = script.of_change(case)
    cluster.shell("login", text, case.user, case.base())
    seen.hit = text != ""
    seen.trees = expected_trees(cluster, case)
    cluster.shell("login", f"scontrol release $(squeue -h -n m{case.seed} -o %A)")


def await_end(cluster, case):
    """Until Slurm knows of no job of the run any more; what is stuck."""
    waited = f"""
        for i in {{1..500}}; do jobs=$(squeue -h -n m{case.seed} -o '%A %T %r') || exit 1; [ -n "$jobs" ] || exit 0; sleep 0.25; done
        echo "$jobs"; sinfo -h -R -o '%n: %E'; scancel -n m{case.seed}; exit 1"""
    code, said = cluster.shell("login", waited, seconds=200)
    if code == 0:
        return ""
    errors = cluster.errors_of_slurmd()
    # slurmd runs no prolog for a second life while it remembers the first; without DeferBatch it then waits for that prolog.
    if case.disturbance == "requeue" and "REQUEST_LAUNCH_PROLOG notification failed" in errors:
        cluster.shell("login", "scontrol update nodename=ALL state=resume")
        return ""
    return said + errors


def collect(cluster, case, seen):
    base = cluster.directory + case.base()
    for number, code in enumerate(seen.codes):
        job = re.search(r"^(\d+)$", seen.said[number], re.M)
        jobs = []
        if case.form not in ("srun", "salloc") and code == 0 and job:
            _, said = cluster.shell("login", f"scontrol show job -o {job[1]}")
            jobs = re.findall(r"JobState=(\S+).*?ExitCode=(\S+)", said)
        seen.jobs.append(jobs)
        for name in sorted(os.listdir(base)):
            if name.startswith(f"said.{number}."):
                with open(f"{base}/{name}", encoding="utf-8", errors="surrogateescape") as file:
                    seen.said[number] += file.read()
    last = {}
    for name in sorted(os.listdir(base + "/out")):
        if not name.startswith("."):
            with open(f"{base}/out/{name}", encoding="ascii") as file:
                last[name.rsplit(".", 1)[0]] = json.load(file)
    for name, task in last.items():
        seen.tasks.setdefault(name.split(".")[0], []).append(task)


def look_after(cluster, case, seen):
    for node in NODES:
        seen.after[node] = cluster.snapshots(node, places_of(case))
        _, said = cluster.shell(node, f"ls -d --quoting-style=literal /tmp/{case.mark()}* /var/tmp/{case.mark()}* /tmp/{case.mark()}own/* "
                                      "2> /dev/null")
        seen.left[node] = said.splitlines()


def look_at_lists(cluster, seen):
    """What waits for the end of another job of the user, which was about to stage an `@LIST` or a pattern (`temp`, users' guide)."""
    _, said = cluster.shell("login", "squeue -h -o %A")
    jobs = said.split()
    for node in NODES:
        _, said = cluster.shell(node, "cd /var/spool/stagecast/.stagecast && for list in *.*.*; do echo; echo @@list $list; tr '\\0' '\\n' < $list; done")
        lists = [text.splitlines() for text in said.split("\n@@list ")[1:]]
        seen.passed_on[node] = [line for name, *lines in lists if name.split(".")[2] in jobs and "U/" in lines for line in lines]


def clean(cluster, case):
    for node in NODES:
        if places_of(case):
            cluster.shell(node, f"umount /var/tmp/{case.mark()}small 2> /dev/null; rm -rf /tmp/{case.mark()}* /var/tmp/{case.mark()}*")
    cluster.shell("login", f"scancel -n m{case.seed}; rm -rf {case.base()}")


def play(cluster, case, judge):
    """Runs the case; what `judge` finds in it. A finding about what stays is looked at again for some seconds."""
    seen = Seen(codes=[None] * (2 if case.twice else 1), said=[""] * (2 if case.twice else 1))
    try:
        prepare(cluster, case, seen)
        threads = [threading.Thread(target=launch, args=(cluster, case, number, seen)) for number in range(len(seen.codes))]
        if case.disturbance not in ("", "removed", "changed"):
            threads.append(threading.Thread(target=disturb, args=(cluster, case, seen)))
        for thread in threads:
            thread.start()
            if case.twice == "after":
                thread.join()
                seen.stuck = await_end(cluster, case)
        for thread in threads:
            thread.join()
        if case.disturbance in ("removed", "changed"):
            change(cluster, case, seen)
        seen.stuck = seen.stuck or await_end(cluster, case)
        if case.disturbance == "daemon-killed":
            cluster.restart_daemon(case.node)
        collect(cluster, case, seen)
        for _ in range(12):
            look_after(cluster, case, seen)
            verdict = judge(case, seen)
            if not verdict.of_leftovers_only():
                break
            time.sleep(.5)
        if verdict.of_leftovers_only():
            look_at_lists(cluster, seen)
            verdict = judge(case, seen)
        return verdict
    finally:
        clean(cluster, case)

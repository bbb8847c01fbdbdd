"""Compares what happened with what is promised.  Holds what was seen of a case against the model."""

import re
from dataclasses import dataclass, field

import compare
import promise
from case import HOME_OF, NODES


@dataclass
class Verdict:
    promised: str = ""
    outcomes: list = field(default_factory=list)  # of each launcher and request: what it came to
    findings: list = field(default_factory=list)  # (what kind of, sentence)

    def add(self, kind, text):
        self.findings.append((kind, text))

    def kinds(self):
        return {kind for kind, _ in self.findings}

    def of_leftovers_only(self):
        return bool(self.findings) and self.kinds() <= {"temp stays", "a name stays"}


def how_staged(case, spec):
    return case.source_of(spec).kind if "extract" in spec.flags else "plain"


def tree_of(case, spec, seen):
    return seen.trees.get((spec.source, "unpacked") if "extract" in spec.flags else spec.source)


def untold_change(case):
    """May the disturbance change what the request comes to?"""
    return case.disturbance not in ("", "removed", "changed")


def promised(case, specs, seen):
    return "any" if untold_change(case) else promise.of_request(case, specs, seen.trees)


def check_words(case, tag, specs, seen, number, verdict):
    """A request that failed says so: a sentence with node or file, exit codes other than 0."""
    said, code = seen.said[number], seen.codes[number]
    if "stagecast: " not in said and "No such file" not in said:
        verdict.add("no sentence", f"it failed without a sentence: {said[-400:]}")
    if case.form in ("srun", "salloc") and code == 0:
        verdict.add("exit code", f"{case.form} exits with 0 though staging failed: {said[-400:]}")
    if tag == "job" and case.form in ("sbatch", "array", "both"):
        for state, exit_code in seen.jobs[number]:
            if (state, exit_code) != ("FAILED", "1:0"):
                verdict.add("job's state", f"the job is {state} {exit_code}, not FAILED 1:0: {said[-400:]}")
    specs = specs + case.specs if tag == "own" else specs  # (The job may have failed before its step.)
    names = {case.source_of(spec).name for spec in specs} | {case.where(spec).split("/")[-1] for spec in specs}
    if all(re.fullmatch(r"[\w.]+", name) for name in names) and not any(name in said for name in names):
        verdict.add("no file named", f"the sentence names no file: {said[-400:]}")


def check_list(case, specs, task, verdict):
    """STAGECAST_FILES: one a line, in the order of the specs."""
    once = [spec for number, spec in enumerate(specs) if spec not in specs[:number]]  # equal specs are one
    expected = [case.where(spec) if spec.is_absolute() else f"{task['top']}/{case.where(spec)}" for spec in once]
    found = task["env"].get("STAGECAST_FILES", "").split("\n")
    if all(re.fullmatch(r"[\w./-]+", path) for path in expected) and found != expected:
        verdict.add("STAGECAST_FILES", f"STAGECAST_FILES on {task['node']} is {found}, not {expected}")


def check_blame(case, seen, verdict):
    """Where a node was hurt and nothing ran, the sentence names this node."""
    said = " // ".join(seen.said)
    if case.needs_the_cluster_alone() and seen.hit and not seen.tasks and "stagecast: " in said and f"node {case.node}" not in said \
            and all(promise.of_request(case, specs, seen.trees) in ("ok", "partial") for _, specs, _ in case.requests()):
        verdict.add("blame", f"{case.disturbance} on {case.node}, which is not named: {said[-500:]}")


def check_outcome(case, tag, specs, is_step, seen, verdict):
    expected = promised(case, specs, seen)
    tasks = seen.tasks.get(tag, [])
    statuses = {task["env"].get("STAGECAST_JOB_STATUS", "none") for task in tasks}
    outcome = "+".join(sorted(statuses)) or "did not run"
    verdict.outcomes.append(outcome)
    verdict.promised = (verdict.promised + " " + expected).strip()
    awaited = len(case.nodes) * len(seen.codes) * (2 if case.form == "array" else 1)
    said = " // ".join(seen.said)[-700:]
    if expected == "fail" and tasks:
        verdict.add("ran", f"{tag}: {len(tasks)} tasks ran ({outcome}) though it should fail: {said}")
    elif expected == "fail" and not (tag == "own" and promised(case, case.specs, seen) == "fail"):
        for number in range(len(seen.codes)):
            check_words(case, tag, specs, seen, number, verdict)
    if expected in ("ok", "partial") and not (tag == "own" and not seen.tasks.get("job")):
        if len(tasks) != awaited:
            verdict.add("did not run", f"{tag}: {len(tasks)} of {awaited} tasks ran, it should be {expected}: {said}")
        elif statuses != {expected} and case.form != "both":
            verdict.add("status", f"{tag}: STAGECAST_JOB_STATUS is {outcome}, it should be {expected}: {said}")


def check_task(case, tag, specs, task, seen, verdict):
    """Content that a task found: right, or left as it was, never something else in silence."""
    node, status = task["node"], task["env"].get("STAGECAST_JOB_STATUS")
    if status not in ("ok", "partial"):
        if not (tag == "own" and status == "failed"):
            verdict.add("status", f"{tag}: a task ran on {node} with status {status}")
        return
    if not task["top"] or task["files"] is None:
        verdict.add("no files", f"{tag}: no directory, or no .stagecast/files in it, on {node}")
    if promised(case, specs, seen) == "ok" and tag == "job" and not case.how.startswith("list"):
        check_list(case, specs, task, verdict)
    shared = case.twice or case.form in ("array", "both")
    for spec in specs:
        fate, where = promise.of_spec(case, spec, node, seen.trees), case.where(spec)
        optional = "optional" in spec.flags
        if optional and shared and spec.is_absolute() and promise.is_open(spec, seen.trees):
            continue  # The second job may have refused what the first one placed.
        if fate in ("fail", "forbidden") or (optional and (untold_change(case) or any(
                promise.of_spec(case, spec, other, seen.trees) not in ("placed", "left") for other in case.nodes))):
            continue
        tree, found, before = tree_of(case, spec, seen), task["places"][where], seen.before.get(node, {}).get(where)
        if tree is None:
            continue
        kept = before is not None and not compare.of_kept(before, found)
        differs = compare.of_staged(how_staged(case, spec), HOME_OF[case.user], case.umask, tree, found)
        if fate == "left" and not kept:
            verdict.add("prior", f"{where} on {node} should be left: {compare.of_kept(before, found)[:3]}")
        elif fate == "placed" and differs and not (shared and spec.is_absolute() and kept):
            verdict.add("content", f"{where} on {node} is not as {case.source_of(spec).name!a} is: {differs[:5]}")
        elif fate in ("any", "either") and differs and not kept:
            verdict.add("content", f"{where} on {node} is neither the old nor the new: {differs[:5]}")
        if "libs" in spec.flags and fate == "placed" and task["runs"].get(where) != case.source_of(spec).answer:
            verdict.add("program", f"{where} on {node} came to {task['runs'].get(where)}, its library says {case.source_of(spec).answer}")
        if fate == "placed" and not case.is_directory(spec) and task["files"] is not None and task["top"]:
            path = where if where.startswith("/") else f"{task['top']}/{where}"
            if path not in task["files"] and "%" not in path:
                verdict.add("files", f".stagecast/files does not name {path!a} on {node}")


def waits(path, entries):
    return any(entry.endswith((path, path + "/", path + "/.")) for entry in entries)


def check_afterwards(case, tag, specs, seen, verdict):
    """What stands at absolute destinations when all is over."""
    ran = bool(seen.tasks.get(tag)) and not untold_change(case)
    for spec in (one for one in specs if one.is_absolute()):
        where, temp = case.where(spec), "temp" in spec.flags
        for node in NODES:
            before, after = seen.before[node].get(where), seen.after[node].get(where)
            changes = compare.of_kept(before, after)
            if node not in case.nodes:
                if changes:
                    verdict.add("other node", f"{where} on {node}, which is not of the job: {changes[:3]}")
                continue
            if not changes and before is not None:
                continue
            fate, tree = promise.of_spec(case, spec, node, seen.trees), tree_of(case, spec, seen)
            if fate in ("left", "fail", "forbidden") and changes:
                verdict.add("prior", f"{where} on {node} should not be touched ({fate}): {changes[:3]}")
            elif temp and before is None and after is not None and not waits(where, seen.passed_on.get(node, [])):
                verdict.add("temp stays", f"{where} on {node} stays though it is temp")
            elif temp and after is None:
                continue
            elif after is not None and tree is not None and before is not None or (ran and fate == "placed" and not temp):
                differs = compare.of_staged(how_staged(case, spec), HOME_OF[case.user], case.umask, tree, after) if tree else []
                if differs and (fate == "placed" or changes) and "optional" not in spec.flags:
                    verdict.add("content", f"{where} on {node} afterwards is neither old nor new: {differs[:4]}")


def check_names(case, seen, verdict):
    """Only what was asked for, or was there, has a name of the run's in the world-writable directories."""
    expected = {f"/{top}/{case.mark()}{name}" for top, names in (("tmp", ("own", "root")), ("var/tmp", ("small",))) for name in names}
    expected.add(f"/tmp/{case.mark()}own/sub")
    absolute = [case.where(spec) for spec in case.specs + case.own if spec.is_absolute()]
    for node in NODES:
        there = [place for place, tree in seen.after[node].items() if tree is not None]
        for name in seen.left[node]:
            known = name in expected or any(name in (one, one[:150] + ".target", one[:150] + ".second") for one in absolute)
            known = known or any(one.startswith(name + "/") for one in there)  # a directory that was made for it
            known = known or any(name.startswith(case.where(spec) + "_libs") and "temp" not in spec.flags
                                 and (seen.tasks or case.where(spec) in there)
                                 for spec in case.specs + case.own if "libs" in spec.flags)
            if not known and name.isprintable():
                verdict.add("a name stays", f"{name} stays on {node}")


def judge(case, seen):
    verdict = Verdict()
    if seen.stuck:
        verdict.add("stuck", f"a job does not end: {seen.stuck}")
    for tag, specs, is_step in case.requests():
        check_outcome(case, tag, specs, is_step, seen, verdict)
        for task in seen.tasks.get(tag, []):
            check_task(case, tag, specs, task, seen, verdict)
        check_afterwards(case, tag, specs, seen, verdict)
    check_names(case, seen, verdict)
    check_blame(case, seen, verdict)
    return verdict

"""Draws the request of seed N. Draws one case from its number alone."""

import random

import promise
from case import NODES, Case, Spec
from sources import ODD, draw_source

# Of one job: its source goes or changes between submission and start, it is cancelled, requeued.
# Of a node: its daemon is killed or stopped for some seconds, its workers are killed.
DISTURBANCES = ["removed", "changed", "cancel", "cancel", "requeue", "daemon-killed", "daemon-paused", "worker-killed"]
PRIORS = ["same", "older", "newer", "link", "dangling", "directory", "file"]
STICKY_PRIORS = ["others", "open", "two-names"]  # what counts in a world-writable directory, and what doesn't
ODD_DST = [name for name in ODD if "$" not in name]  # a variable's name is refused there
ILLEGAL = [("", ["nosuch"]), ("", ["keep", "overwrite"]), ("", ["extract", "libs"]), ("", ["Temp"]), ("../x", []), ("/tmp/../etc/x", []),
           ("a/../../b", []), (".stagecast/x", []), ("step.0", [])]


def draw_flags(r, source, prior):
    flags = []
    if source.is_archive() and r.random() < .9:
        flags.append("extract")
    if source.kind == "program" or ("extract" not in flags and r.random() < .02):
        flags.append("libs")
    existing = r.choice(["keep", "newer", "newer", "overwrite", "overwrite"] if prior and r.random() < .7
                        else ["", "", "", "keep", "newer", "overwrite"])
    flags += [existing] if existing else []
    flags += ["optional"] if r.random() < (.5 if source.is_bad() else .12) else []
    flags += ["late"] if r.random() < (.5 if source.kind == "missing" else .1) else []
    flags += ["temp"] if r.random() < .25 else []
    flags += ["durable"] if r.random() < .15 else []
    r.shuffle(flags)
    return flags


def draw_absolute(r, case, number, source, plain_names):
    """A spec with an absolute DST, on whatever stands there."""
    mark = case.mark()
    place = r.choices(["", "small", "root-owned", "missing", "forbidden"], [90, 4, 2, 3, 1])[0]
    parent = {"": r.choice(["/tmp", "/tmp", "/var/tmp", f"/tmp/{mark}own", f"/tmp/{mark}own/sub"]),
              "small": f"/var/tmp/{mark}small", "root-owned": f"/tmp/{mark}root",
              "missing": f"/tmp/{mark}missing", "forbidden": r.choice(["/etc", "/opt", "/usr/share"])}[place]
    dst = f"{parent}/{mark}{number}"
    if not plain_names and r.random() < .25:
        dst += r.choice(ODD_DST)[:180]
    elif parent.endswith("own") and r.random() < .3:
        dst = r.choice([f"{parent}/", f"{parent}/d{number}/"])
    prior = {}
    if place == "" and source.kind != "program" and not dst.endswith("/") and r.random() < .45:
        kinds = PRIORS + (STICKY_PRIORS if parent in ("/tmp", "/var/tmp") else [])
        prior = {node: r.choice(kinds) for node in NODES if r.random() < .6}
    return dst, prior, place


def draw_spec(r, case, number, plain_names):
    index = r.randrange(len(case.sources))
    source = case.sources[index]
    dst, prior, place = "", {}, ""
    kind = r.random()
    if r.random() < .01:
        dst, flags = r.choice(ILLEGAL)
        return Spec(index, dst, list(flags), False, {}, "illegal")
    if kind > .6:
        dst, prior, place = draw_absolute(r, case, number, source, plain_names)
    elif kind > .35:
        dst = r.choice([f"d{number}", f"sub{number}/x", f"a/b/c{number}", f"in{number}/", f"./q{number}", f"e{number}-%j/x"])
        if not plain_names and r.random() < .3:
            dst = f"o{number}" + r.choice(ODD_DST)[:200]
    return Spec(index, dst, draw_flags(r, source, prior), r.random() < .3, prior, place)


def collide(case, specs):
    """Is one's destination another's, or within it?"""
    specs = [spec for spec in specs if spec.place != "illegal"]
    names = [case.where(spec) for spec in specs]
    names += [case.where(spec) + "_libs" for spec in specs if "libs" in spec.flags]
    return any(a == b or a.startswith(b + "/") or b.startswith(a + "/")
               for i, a in enumerate(names) for b in names[i + 1:])


def hopeless(case, spec):
    fates = {promise.of_spec(case, spec, node, {}) for node in case.nodes}
    return "forbidden" in fates or ("fail" in fates and "optional" not in spec.flags)


def draw_specs(r, case, first, count, plain_names):
    """In half of the requests each spec alone may go well."""
    specs, calm = [], r.random() < .5
    for number in range(first, first + count):
        for _ in range(6):
            spec = draw_spec(r, case, number, plain_names)
            if not collide(case, specs + [spec]) and not (calm and hopeless(case, spec)):
                specs.append(spec)
                break
    specs = specs or [draw_spec(r, case, first, plain_names)]
    if r.random() < .04:
        specs.append(specs[0])  # the same once more
    return specs


def can_be_listed(case, spec):
    """In a list or a variable of lines; libs can't, and a ~ or # in front means something."""
    text = case.source_of(spec).name + spec.dst
    return "libs" not in spec.flags and text == text.strip() and "\n" not in text


def draw(seed, quiet=False):
    r = random.Random(f"model {seed}")
    case = Case(seed, user=r.choice(["alice", "bob"]))
    case.form = r.choice(["sbatch", "sbatch", "srun", "srun", "salloc", "array", "step", "both"])
    case.how = r.choice(["option", "option", "option", "env", "list", "list", "list-crlf", "directive"])
    case.nodes = sorted(r.sample(NODES, r.choice([1, 2, 3, 3, 3])))
    case.umask = r.choices([0o22, 0o77, 0o02], [8, 1, 1])[0]
    case.more = r.choices([[], ["--stage-verbose"], ["--stage-timeout=1min"]], [7, 2, 1])[0]
    disturbance = r.choice(DISTURBANCES) if r.random() < .3 else ""
    case.disturbance = "" if quiet else disturbance
    case.node = r.choice(case.nodes)
    case.delay = r.choice([0, .05, .1, .2, .3, .5])
    if case.form in ("sbatch", "srun") and case.disturbance == "":
        case.twice = r.choices(["", "beside", "after"], [7, 1, 1])[0]
    if case.disturbance in ("removed", "changed", "requeue"):
        case.form = r.choice(["sbatch", "sbatch", "both"])
    if case.how == "directive" and case.form not in ("sbatch", "array", "both"):
        case.how = "option"
    plain_names = case.how in ("directive", "env", "list", "list-crlf") or r.random() < .3
    case.sources = [draw_source(r, plain_names, disturbance != "" and r.random() < .5) for _ in range(r.choice([1, 2, 3, 5]))]
    case.specs = draw_specs(r, case, 0, r.choice([1, 1, 2, 2, 3, 4, 6, 10, 30]), plain_names)
    if case.form == "both":
        case.own = draw_specs(r, case, 100, r.choice([1, 2, 4]), plain_names)
        if collide(case, [s for s in case.specs + case.own if s.is_absolute()]):
            case.form, case.own = "sbatch", []
    if case.how in ("env", "list", "list-crlf") and not all(can_be_listed(case, s) for s in case.specs + case.own):
        case.how = "option"
    return case

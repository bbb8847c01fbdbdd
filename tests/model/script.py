"""Makes and submits a case: the Bash scripts for the login host and the nodes, run exactly as they are printed."""

from case import NODES
from sources import PRELUDE, safe
from words import in_spec, word, words

PROBE = "/srv/model/probe.py"
STATES = {"older": "1950-01-01", "newer": "2099-01-01"}


def of_sources(case):
    """As the user: its sources, each in a directory of its own, and its lists."""
    lines = [PRELUDE, "set -e; umask 022; mkdir -p out in; chmod 755 . out in"]
    for number, source in enumerate(case.sources):
        if not source.lines:
            continue
        lines += ["(", f"mkdir in/s{number}; cd in/s{number}"] + source.lines + [")"]
    if case.how.startswith("list"):
        lines += [of_list(case, specs, tag) for tag, specs, _ in case.requests()]
    return "\n".join(lines) + "\n"


def of_list(case, specs, tag):
    end = "\\r" if case.how == "list-crlf" else ""
    texts = ["# one spec a line"] + [text_of(case, spec) for spec in specs]
    return f"printf '%s{end}\\n' {words(*texts)} > list.{tag}"


def text_of(case, spec):
    source = case.source_of(spec)
    src = in_spec(f"in/s{spec.source}/{source.name}")
    text = f"{case.base()}/{src}" if spec.absolute_src else src
    if spec.dst or spec.flags:
        text += ":" + in_spec(spec.dst)
    return text + (":" + "+".join(spec.flags) if spec.flags else "")


def of_prior(case, node):
    """As root on one node: the directories that destinations lie in, and what stands there; "" if nothing."""
    mark, lines = case.mark(), []
    specs = [spec for spec in case.specs + case.own if spec.is_absolute()]
    if not specs:
        return ""
    own = f"install -d -o {case.user} -g {case.user}"
    if any(f"/{mark}own" in spec.dst for spec in specs):
        lines.append(f"{own} /tmp/{mark}own /tmp/{mark}own/sub")
    if any(spec.place == "root-owned" for spec in specs):
        lines.append(f"mkdir -p /tmp/{mark}root")
    if any(spec.place == "small" for spec in specs):
        lines.append(f"mkdir /var/tmp/{mark}small && mount -t tmpfs -o size=1m,mode=1777 small /var/tmp/{mark}small")
    for number, spec in enumerate(specs):
        if node in spec.prior and spec not in specs[:number]:
            lines += of_one_prior(case, spec, spec.prior[node])
    return "\n".join(lines) + "\n" if lines else ""


def of_one_prior(case, spec, kind):
    place, user = safe(case.where(spec)), case.user
    source = case.source_of(spec)
    tree = case.is_directory(spec)
    give = f"chown -h -R {user}:{user} {place}"
    if kind == "same" and not tree and source.kind not in ("unreadable", "missing", "pipe", "bad-tree"):
        return [f"cp {word(f'{case.base()}/in/s{spec.source}/{source.name}')} {place}; chmod 640 {place}; {give}"]
    if kind in ("older", "newer", "same"):
        when = STATES.get(kind, "2099-01-01")
        if tree:
            return [f"mkdir {place}; echo old > {place}/old; {give}; touch -d {when} {place}/old {place}"]
        return [f"echo 'stood here' > {place}; {give}; touch -d {when} {place}"]
    if kind == "open" and tree:
        return [f"mkdir {place}; {give}; chmod 777 {place}"]
    if kind == "open":
        return [f"echo 'stood here' > {place}; {give}; chmod 666 {place}"]
    if kind == "two-names":
        return [f"echo 'stood here' > {place}; {give}; ln {place} {safe(case.where(spec)[:150])}.second"]
    if kind == "others":
        return [f"echo 'stood here' > {place}; chown 4321:4321 {place}"]
    if kind == "dangling":
        return [f"ln -s /tmp/nowhere {place}; {give}"]
    if kind == "link":
        target = f"{case.where(spec)[:150]}.target"
        return [f"echo 'stood here' > {word(target)}; ln -s {word(target)} {place}; {give}; chown {user}: {word(target)}"]
    if kind == "directory":
        return [f"mkdir {place}; echo old > {place}/old; {give}"]
    return [f"echo 'stood here' > {place}; {give}"]


def options(case, specs, tag, client):
    """(environment, arguments, #SBATCH lines) that ask for these specs."""
    texts = [text_of(case, spec) for spec in specs]
    if case.how == "env" and tag == "job":
        lines = "\n".join(texts)
        return f"{client}_STAGE_FILE={word(lines)} ", case.more, []
    if case.how.startswith("list"):
        return "", [f"--stage-file=@list.{tag}"] + case.more, []
    if case.how == "directive" and tag == "job":
        return "", case.more, [f"#SBATCH --stage-file={text}" for text in texts]
    return "", [f"--stage-file={text}" for text in texts] + case.more, []


def nodes_of(case):
    return f"-N{len(case.nodes)} -n{len(case.nodes)} -w {','.join(case.nodes)}"


def of_launch(case, number=0, task=None):
    """As the user, in base(): writes what the launchers read, and starts the one that was drawn."""
    seconds = 1.5 if case.disturbance in ("cancel", "requeue") or case.needs_the_cluster_alone() else 0
    def run(tag):
        return f"python3 {PROBE} {tag} {case.base()} {seconds}" if task is None else task
    name, where = f"-J m{case.seed}", nodes_of(case)
    if case.form in ("srun", "salloc"):
        environment, arguments, _ = options(case, case.specs, "job", "SLURM" if case.form == "srun" else "SALLOC")
        command = case.form if case.form == "srun" else "salloc -Q"
        middle = "" if case.form == "srun" else "srun "
        return f"umask {case.umask:o}; {environment}{command} {name} {where} {' '.join(map(word, arguments))} {middle}{run('job')}\n"
    environment, arguments, lines, body = "", [], [], []
    for tag, specs, is_step in case.requests():
        if is_step:
            _, own, _ = options(case, specs, tag, "SLURM")
            body.append(f"srun --overlap {' '.join(map(word, own))} {run(tag)}; echo exit {tag} $?")
        else:
            environment, arguments, lines = options(case, specs, tag, "SBATCH")
            body.append(f"srun {run(tag)}; echo exit {tag} $?")
    script = "\n".join(["#!/bin/bash"] + lines + body)
    text = f"cat > script.{number} <<'END'\n{script}\nEND\n"
    more = " -a 0-1" if case.form == "array" else " -H" if case.disturbance in ("removed", "changed") else ""
    return text + (f"umask {case.umask:o}; {environment}sbatch --parsable --requeue {name} {where}{more} -o said.{number}.%A_%a "
                   f"{' '.join(map(word, arguments))} script.{number}\n")


def of_change(case):
    """As the user, between submission and start: what becomes of the first source."""
    if case.disturbance == "removed":
        return "chmod -R u+rwX in/s0; rm -rf in/s0\n"
    source = case.sources[0]
    if source.kind == "tree":
        return f"cd in/s0; chmod u+w {safe(source.name)}; mkdir {safe(source.name)}/added\n"
    if source.kind == "file":
        return f"cd in/s0; chmod u+w {safe(source.name)}; echo more >> {safe(source.name)}\n"
    return ""


def as_text(case, up):
    """The case as commands for a person, on a cluster that was brought up by `up`."""
    base, at = case.base(), "$L exec"
    as_user = f"{at} -u {case.user}"
    lines = ['L="tests/cluster/lab --name model"', f"$L up {up}",
             f"{as_user} mkdir -p {base}", f"{as_user} -d {base} bash <<'MADE'", of_sources(case).rstrip(), "MADE"]
    for node in NODES:
        if of_prior(case, node):
            lines += [f"$L on {node} bash <<'MADE'", of_prior(case, node).rstrip(), "MADE"]
    task = "sh -c 'hostname; env | grep STAGECAST; find ${STAGECAST_STEP_DIR:-$STAGECAST_DIR} -ls'"
    for number in range(2 if case.twice else 1):
        lines += [f"{as_user} -d {base} bash <<'MADE'", of_launch(case, number, task).rstrip(), "MADE"]
    if case.disturbance:
        lines.append(f"# then: {case.disturbance} ({case.node}, after {case.delay} s)")
        if case.disturbance in ("removed", "changed"):
            lines += [f"{as_user} -d {base} bash <<'MADE'", of_change(case).rstrip(), "MADE", f"{at} scontrol release jobname=m{case.seed}"]
    return lines

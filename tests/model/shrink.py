"""Finds a smaller case that fails the same way.  Leaves out what it can, one thing at a time, in bounded time."""

import copy
import time


def without(case, change):
    smaller = copy.deepcopy(case)
    change(smaller)
    return smaller


def smaller_cases(case):
    """The cases that lack one thing of this one, the largest things first."""
    def set_to(**values):
        return without(case, lambda c: c.__dict__.update(values))
    unused = set(range(len(case.sources))) - {spec.source for spec in case.specs + case.own}
    if any(case.sources[number].lines for number in unused):
        yield without(case, lambda c: [c.sources[number].__dict__.update(kind="missing", lines=[]) for number in unused])
    if case.form == "both":
        yield set_to(form="sbatch", own=[])
    if case.twice:
        yield set_to(twice="")
    if case.disturbance:
        yield set_to(disturbance="")
    for which in ("specs", "own"):
        specs = getattr(case, which)
        part = (len(specs) + 1) // 2
        while len(specs) > 1 and part > 0:  # without this half, that half, this quarter, ...
            for at in range(0, len(specs), part):
                yield set_to(**{which: specs[:at] + specs[at + part:]})
            part //= 2
    if case.form not in ("srun", "both", "step") and case.disturbance in ("", "cancel"):
        yield set_to(form="srun", how="option" if case.how == "directive" else case.how)
    if case.how != "option":
        yield set_to(how="option")
    for number in range(len(case.nodes) if len(case.nodes) > 1 else 0):
        nodes = case.nodes[:number] + case.nodes[number + 1:]
        if not case.disturbance or case.node in nodes:
            yield set_to(nodes=nodes)
    if case.umask != 0o22:
        yield set_to(umask=0o22)
    if case.more:
        yield set_to(more=[])
    yield from of_specs(case)
    yield from of_sources(case)


def of_specs(case):
    for which in ("specs", "own"):
        for number, spec in enumerate(getattr(case, which)):
            def of(change, which=which, number=number):
                return without(case, lambda c: change(getattr(c, which)[number]))
            if spec.prior:
                yield of(lambda s: s.prior.clear())
            for flag in spec.flags:
                if flag not in ("extract", "libs"):
                    yield of(lambda s, flag=flag: s.flags.remove(flag))


def of_sources(case):
    """Without lines of the sources that specs name, half of them and then one by one."""
    used = {spec.source for spec in case.specs + case.own}
    for number, source in enumerate(case.sources):
        def of(lines, number=number):
            return without(case, lambda c: setattr(c.sources[number], "lines", lines))
        if number not in used:
            continue
        count = len(source.lines)
        if count > 6:
            yield of(source.lines[:1] + source.lines[1 + count // 2:])
            yield of(source.lines[:count // 2] + source.lines[-1:])
        for line in range(1, count - 1):
            yield of(source.lines[:line] + source.lines[line + 1:])


def shrink(case, kinds, try_case, seconds):
    """`try_case(case)` gives the kinds of findings; the smallest case found that has one of `kinds`."""
    until, tries = time.monotonic() + seconds, 0
    changed = True
    while changed:
        changed = False
        for smaller in smaller_cases(case):
            if time.monotonic() > until:
                return case, tries
            tries += 1
            if try_case(smaller) & kinds:
                case, changed = smaller, True
                break
    return case, tries

"""The model: what the guides promise for a request, one function per sentence of theirs.

Of one spec on one node: `placed`, `left` as it was, `either`, `fail`, `forbidden` (fails, and
`optional` doesn't help) or `any` (the guides don't say). Of a request: `ok`, `partial`, `fail`,
or `any`: then only the invariants are asked for.
"""

MIB = 1 << 20


def of_existing(flag, is_directory, prior):
    """stagecast-spank(7), FLAGS; the users' guide, "Where it goes"."""
    if prior == "others":  # another user's, in a world-writable directory
        return "fail"
    if prior == "open":  # world-writable
        return "placed" if flag == "overwrite" else "fail"
    if prior == "two-names":
        return "any" if is_directory and flag else "placed" if flag == "overwrite" else "fail"
    if prior == "same" and not is_directory:
        return "either" if flag in ("newer", "overwrite") else "left"
    if prior in ("older", "newer", "same"):
        return {"": "fail", "keep": "left", "newer": "placed" if prior == "older" else "left", "overwrite": "placed"}[flag]
    if prior == "dangling" or (prior == "link" and is_directory):  # (The link leads to a file.)
        return {"newer": "any", "overwrite": "placed"}.get(flag, "fail")
    if prior == "link" or is_directory == (prior == "directory"):
        return {"": "fail", "keep": "left", "newer": "any", "overwrite": "placed"}[flag]
    return "any" if flag else "fail"  # a file where a directory goes, or the other way round


def of_space(case, spec, trees):
    """In a place of 1 MiB: what is surely too large, and what surely fits with the others there."""
    def taken(one):
        tree = trees.get(one.source) or {}
        return sum(max(record["size"], 512 * record["blocks"]) for record in tree.values()), \
            sum(512 * record["blocks"] for record in tree.values())
    if spec.source not in trees or trees[spec.source] is None or "extract" in spec.flags:
        return "any"  # (a small archive may unpack to more)
    there = [one for one in case.specs + case.own if one.place == "small"]
    if taken(spec)[1] > MIB + MIB // 4 and not case.is_directory(spec):
        return "fail"
    return "placed" if sum(taken(one)[0] for one in there) < MIB // 4 else "any"


def of_spec(case, spec, node, trees):
    source = case.source_of(spec)
    if spec.place in ("forbidden", "illegal"):
        return "forbidden"
    if source.kind == "refused" and "extract" in spec.flags:
        return "fail"
    if source.kind == "flipped" and "extract" in spec.flags:  # (no checksum of a zip covers all of it)
        return "any" if source.name.endswith(".zip") else "fail"
    if case.disturbance == "removed" and spec.source == 0:
        return "fail"
    if "libs" in spec.flags and source.kind != "program":
        return "fail"  # a script, or no program at all
    if source.is_bad() or spec.place == "root-owned":
        return "fail"
    if spec.place == "small":
        return of_space(case, spec, trees)
    if node in spec.prior:
        return of_existing(spec.existing(), case.is_directory(spec), spec.prior[node])
    return "placed"


def of_libraries(case, specs):
    """Programs of one directory find each other's libraries; these have one name, and may have another content."""
    programs = [spec for spec in specs if "libs" in spec.flags and case.source_of(spec).kind == "program"]
    found = "ok"
    for number, one in enumerate(programs):
        for other in programs[:number]:
            if one is not other and case.where(one).rpartition("/")[0] == case.where(other).rpartition("/")[0]:
                differ = case.source_of(one).answer != case.source_of(other).answer
                found = "fail" if differ and "optional" not in one.flags + other.flags else "any" if found == "ok" else found
    return found


def is_open(spec, trees):
    """World-writable: in a world-writable directory it is trusted no more."""
    return any(record["mode"] & 0o002 for record in (trees.get(spec.source) or {}).values())


def of_request(case, specs, trees):
    fates = [(spec, of_spec(case, spec, node, trees)) for spec in specs for node in case.nodes]
    if any(fate == "forbidden" or (fate == "fail" and "optional" not in spec.flags) for spec, fate in fates):
        return "fail"
    libraries = of_libraries(case, specs)
    if libraries == "fail":
        return "fail"
    unclear = libraries == "any" or any(fate == "any" for _, fate in fates)
    if case.form == "array" or case.twice:  # sisters meet each other's directories, and what anyone may have changed since
        unclear = unclear or any(spec.is_absolute() and (case.is_directory(spec) or "libs" in spec.flags or is_open(spec, trees))
                                 for spec in specs)
    if unclear:
        return "any"
    return "partial" if any(fate == "fail" for _, fate in fates) else "ok"

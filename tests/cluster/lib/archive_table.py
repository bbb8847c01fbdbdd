#!/usr/bin/env python3
"""Odd archives, and what stagecast makes of them beside what tar(1) and unzip(1) make of them.

make DIRECTORY            writes them there, and `list`, which stages each to got/NAME
table DIRECTORY GOT       prints a table in Markdown: got is what was staged
compare DIRECTORY GOT     prints each archive in DIRECTORY of which GOT has another result
"""

import io
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile

PACKINGS = {
    "tar": None,
    "tar.gz": ["gzip", "-nc"],
    "tar.lz4": ["lz4", "-qc"],
    "tar.zst": ["zstd", "-qc"],
    "tar.xz": ["xz", "-c"],
    "tar.bz2": ["bzip2", "-c"],
}
COLUMNS = [*PACKINGS, "zip"]
TIME = 1_234_567_890


def member(name, kind=tarfile.REGTYPE, link="", mode=0o644, content=b"", mtime=TIME):
    one = tarfile.TarInfo(name)
    one.type, one.linkname, one.mode, one.size, one.mtime = kind, link, mode, len(content), mtime
    return one, content


def directory(name, mode=0o755):
    return member(name, tarfile.DIRTYPE, mode=mode)


def tar(members, form=tarfile.PAX_FORMAT, end=1024):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, errors="surrogateescape") as archive:
        for one, content in members:
            archive.addfile(one, io.BytesIO(content) if one.isreg() else None)
        used = archive.offset
    return out.getvalue()[:used] + bytes(end)


def zipped(members, comment=b"", system=3, attributes=0):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.comment = comment
        for name, mode, content in members:
            one = zipfile.ZipInfo(name, (2009, 2, 13, 23, 31, 30))
            one.create_system, one.external_attr = system, mode << 16 | attributes
            archive.writestr(one, content)
    return out.getvalue()


def packed(data, packing):
    return data if packing is None else subprocess.run(
        packing, input=data, stdout=subprocess.PIPE, check=True).stdout


LINES = b"".join(b"%d\n" % i for i in range(40_000))
TREE = [
    directory("d"), directory("d/empty"), member("d/f", content=LINES), member("d/zeros", content=bytes(5000)),
    member("d/run", mode=0o755, content=b"#!/bin/sh\n"), member("d/group", mode=0o664, content=b"g"),
    member("d/set", mode=0o6755, content=b"s"), member("d/l", tarfile.SYMTYPE, "f"),
    member("d/up", tarfile.SYMTYPE, "../.."), member("d/h", tarfile.LNKTYPE, "d/f"), member("implied/way/f", content=b"x"),
]
ZIP_TREE = [
    ("d/", 0o40755, b""), ("d/f", 0o100644, LINES), ("d/run", 0o100755, b"#!/bin/sh\n"),
    ("d/l", 0o120777, b"f"), ("implied/way/f", 0o100644, b"x"),
]
NAMES = ["plain", "r\u00e9sum\u00e9", "re\u0301sume\u0301", "new\nline", "back\\slash", " blank ", "-dash", "*", "x" * 200]
AS_BYTES = "not \udcff utf"


def cut(data):
    return data[:len(data) * 2 // 3]


def bent(data):
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 16]) + data[at + 1:]


def in_two(data, packing):
    return packed(data[:100_352], packing) + packed(data[100_352:], packing)


def plain(tar_bytes, zip_bytes=None):
    return {**{one: packed(tar_bytes, how) for one, how in PACKINGS.items()},
            **({"zip": zip_bytes} if zip_bytes else {})}


def changed(how, tar_bytes, zip_bytes):
    return {one: how(data) for one, data in plain(tar_bytes, zip_bytes).items()}


def password(top):
    path = os.path.join(top, "locked.zip")
    with open(os.path.join(top, "locked"), "w", encoding="ascii") as file:
        file.write("secret\n")
    subprocess.run(["zip", "-q", "-P", "x", "locked.zip", "locked"], cwd=top, check=True)
    with open(path, "rb") as file:
        data = file.read()
    os.unlink(path)
    os.unlink(os.path.join(top, "locked"))
    return data


def dos():
    data = zipped([("d\\f", 0, b"x")])
    at = data.rindex(b"PK\x01\x02")
    return data[:at + 5] + b"\0" + data[at + 6:]


def by_system(system):
    """Read-only by DOS attributes; and as Python writes there what it is given without them."""
    read_only = zipped([("read", 0, b"x")], system=system, attributes=0x21)
    return {"zip": read_only}, {"zip": zipped([("d/", 0, b""), ("d/f", 0, b"x")], system=system)}


def oddities(top):
    whole, zip_whole = tar(TREE), zipped(ZIP_TREE)
    long = [("d/" + "y" * 90 + "/" + name, name) for name in NAMES]
    gnu = tar([member(name, content=b"x") for name, _ in long], tarfile.GNU_FORMAT)
    names = tar([member("d/" + name, content=name.encode()) for name in NAMES] + [member("l", tarfile.SYMTYPE, NAMES[1])])
    return {
        "a tree with links of both kinds": plain(whole, zip_whole),
        "names in UTF-8, composed and not, and with odd bytes": plain(
            names, zipped([("d/" + name, 0o100644, name.encode()) for name in NAMES if name not in ("back\\slash", "new\nline")])),
        "names that are no UTF-8": plain(tar([member("d/" + AS_BYTES, content=b"x")], tarfile.GNU_FORMAT)),
        "names longer than 100 bytes (GNU)": plain(gnu),
        "a file named twice, so a link to itself": plain(tar([member("f", content=b"x"), member("f", tarfile.LNKTYPE, "f")])),
        "a member that comes again": plain(tar([member("f", content=b"old"), member("f", content=b"new")])),
        "a member that comes again as another kind": plain(
            tar([member("f", content=b"x"), directory("f"), member("f/g", content=b"y"), directory("e"), member("e", content=b"z")])),
        "members before their directories, which are read-only": plain(
            tar([member("d/e/f", content=b"x"), directory("d/e", 0o555), directory("d", 0o500)])),
        "times before 1970, with a fraction": plain(tar([member("f", mtime=-99.5), member("g", mtime=-2)])),
        "nothing in it": plain(tar([]), zipped([])),
        "compressed in two parts": {one: in_two(whole, how) for one, how in PACKINGS.items() if how},
        "text behind the end": {"tar": whole + b"a signature\n", "tar.gz": packed(whole, ["gzip", "-nc"]) + bytes(512),
                                "zip": zip_whole + b"a signature\n"},
        "one block of zeros as its end": plain(tar(TREE, end=512)),
        "no mark of its end": plain(tar(TREE, end=0)),
        "truncated": changed(cut, whole, zip_whole),
        "one wrong bit": {one: data for one, data in changed(bent, whole, zip_whole).items() if one != "tar"},
        "a program before it": {"zip": b"#!/usr/bin/env python3\n" + zip_whole},
        "a comment of 60,000 bytes": {"zip": zipped(ZIP_TREE, b"c" * 60_000)},
        "backslashes by DOS": {"zip": dos()},
        "read-only by DOS": by_system(0)[0],
        "read-only by Windows NT": by_system(11)[0],
        "a directory by DOS, known by its slash only": by_system(0)[1],
        "a directory by Windows NT, known by its slash only": by_system(11)[1],
        "a directory without its slash": {"zip": zipped([("d", 0o40755, b""), ("d/f", 0o100644, b"x")], attributes=0x10)},
        "a password": {"zip": password(top)},
        "an absolute name": plain(tar([member("/tmp/stagecast-absolute", content=b"x")])),
        "a name that goes up": plain(tar([member("d/../../up", content=b"x")])),
        "a pipe": plain(tar([member("p", tarfile.FIFOTYPE)])),
    }


def file_name(index, column):
    return f"odd{index:02}.{column}"


def make(top):
    with open(os.path.join(top, "list"), "w", encoding="ascii") as lines:
        for index, formats in enumerate(oddities(top).values()):
            for column, data in formats.items():
                name = file_name(index, column)
                with open(os.path.join(top, name), "wb") as file:
                    file.write(data)
                lines.write(f"{name}:got/{name}:extract+optional\n")


def look(top):
    """What is below: by name its kind, mode, what is in it, its time and which names share it."""
    seen, names = {}, {}
    for way, directories, files in os.walk(os.fsencode(top)):
        for name in directories + files:
            path = os.path.join(way, name)
            there = os.lstat(path)
            below = os.path.relpath(path, os.fsencode(top))
            content = None
            if stat.S_ISLNK(there.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(there.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            is_file = stat.S_ISREG(there.st_mode)
            names.setdefault(there.st_ino, set()).add(below)
            seen[below] = [there.st_mode, content, there.st_mtime_ns if is_file else None, there.st_ino]
    for one in seen.values():
        one[3] = names[one[3]]
    return seen


def by_tool(path):
    """What the tool makes of it, or nothing if it makes an error."""
    top = tempfile.mkdtemp()
    try:
        if path.endswith((".zip", ".jar")):
            # 1: a warning, of an empty one, too. No password is asked for.
            ran = subprocess.run(["unzip", "-qq", "-o", "-P", "", "-d", top, path], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            is_well = ran.returncode in (0, 1)
        else:
            how = ["-I", "lz4"] if path.endswith(".lz4") else []
            ran = subprocess.run(["tar", *how, "-xf", path, "-C", top], stderr=subprocess.DEVNULL, check=False)
            is_well = ran.returncode == 0
        return look(top) if is_well else None
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", top], check=False)
        shutil.rmtree(top)


def verdict(path, got):
    tool = "unzip" if path.endswith((".zip", ".jar")) else "tar"
    theirs = by_tool(path)
    ours = look(got) if os.path.isdir(got) else None
    if theirs is None or ours is None:
        if theirs is None and ours is None:
            return "refused by both"
        return f"refused, {tool} takes it" if ours is None else f"taken, {tool} refuses it"
    if theirs == ours:
        return f"as {tool}"
    for name in sorted(set(theirs) | set(ours)):
        if theirs.get(name) != ours.get(name):
            print(path, name, str(theirs.get(name))[:200], str(ours.get(name))[:200], file=sys.stderr)
    return f"differs from {tool}"


def table(top, got):
    print("| | " + " | ".join(COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    with tempfile.TemporaryDirectory() as room:
        rows = oddities(room)
    for index, (title, formats) in enumerate(rows.items()):
        cells = []
        for column in COLUMNS:
            name = file_name(index, column)
            cells.append(verdict(os.path.join(top, name), os.path.join(got, name)) if column in formats else "")
        print(f"| {title} | " + " | ".join(cells) + " |")


def compare(top, got):
    for name in sorted(os.listdir(top)):
        said = verdict(os.path.join(top, name), os.path.join(got, name))
        if said not in ("as tar", "as unzip", "refused by both"):
            print(f"{name}: {said}")


if __name__ == "__main__":
    {"make": make, "table": table, "compare": compare}[sys.argv[1]](*sys.argv[2:])

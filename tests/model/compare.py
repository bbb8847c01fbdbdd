"""Compares two trees.  Each answer is a list of sentences, empty if all is as it should be."""

import stat

from case import GROUP

SECOND = 10 ** 9
MIB = 1 << 20


def shown(name):
    return ascii(name)[1:-1] if name else "(top)"


def of_kept(old, new):
    """What was there before must be the same objects with the same content."""
    if old is None or new is None:
        return [] if old is new else ["it appeared" if old is None else "it is gone"]
    found = []
    for name in sorted(set(old) | set(new)):
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            found.append(f"{shown(name)}: {'appeared' if before is None else 'is gone'}")
            continue
        found += [f"{shown(name)}: {key} {before.get(key)} became {after.get(key)}" for key in before if key != "blocks"
                  and before.get(key) != after.get(key)]
    return found


def of_times(how, old, new):
    if how == "zip":  # two seconds are its grain, and it knows the years 1980 to 2107
        return 315619200 * SECOND < old["mtime"] and abs(old["mtime"] - new["mtime"]) > 2.1 * SECOND and stat.S_ISREG(old["type"])
    if how == "tar":
        return not stat.S_ISLNK(old["type"]) and old["mtime"] // SECOND != new["mtime"] // SECOND
    return old["mtime"] != new["mtime"]


def of_records(how, uid, umask, old, new):
    wrong = []
    if new["uid"] != uid:
        wrong.append(f"owner {new['uid']}")
    if how == "plain" and new["gid"] != (GROUP if old["gid"] == GROUP else uid):
        wrong.append(f"group {new['gid']}")
    if not stat.S_ISLNK(old["type"]):
        mode = old["mode"] if how == "plain" else old["mode"] & 0o777 & ~umask
        if new["mode"] != mode:
            wrong.append(f"mode {new['mode']:o}, not {mode:o}")
        if how != "zip" and old["notes"] != new["notes"]:
            wrong.append(f"attributes {new['notes']}, not {old['notes']}")
    elif old["target"] != new["target"]:
        wrong.append(f"link to {shown(new['target'])}")
    if of_times(how, old, new):
        wrong.append(f"time {new['mtime']}, not {old['mtime']}")
    if stat.S_ISREG(old["type"]):
        if old["size"] != new["size"]:
            wrong.append(f"size {new['size']}, not {old['size']}")
        elif old["digest"] != new["digest"] and not new["digest"].startswith("errno"):
            wrong.append("another content")
        hole = old["size"] - 512 * old["blocks"]
        if how != "zip" and hole > MIB and 512 * new["blocks"] > old["size"] - hole // 2:
            wrong.append(f"{new['blocks']} blocks, not {old['blocks']}")
    return wrong


def hard_links(tree):
    sets = {}
    for name, record in tree.items():
        if record["type"] != stat.S_IFDIR and record["names"] > 1:
            sets.setdefault(record["inode"], []).append(name)
    return sorted(sorted(names) for names in sets.values() if len(names) > 1)


def of_staged(how, uid, umask, old, new):
    """`how`: plain, tar or zip (against what was packed)."""
    if new is None:
        return ["nothing is there"]
    found = []
    for name in sorted(set(old) | set(new)):
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            found.append(f"{shown(name)}: {'too much' if before is None else 'missing'}")
        elif before["type"] != after.get("type"):
            found.append(f"{shown(name)}: type {after.get('type', 0):o}, not {before['type']:o}")
        elif name != "" or how == "plain":  # the top of what is unpacked is the archive's
            found += [f"{shown(name)}: {one}" for one in of_records(how, uid, umask, before, after)]
    if how != "zip" and hard_links(old) != hard_links(new):
        found.append("hard links")
    return found

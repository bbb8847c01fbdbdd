#!/usr/bin/env python3
"""Takes a snapshot of places.  snapshot.py < names: prints {name: tree or null} as JSON.

A tree is {relative name: record}; "" is its top. Names may hold any byte (surrogateescape).
"""

import hashlib
import json
import os
import stat
import sys


def record_of(path):
    status = os.lstat(path)
    record = {"type": stat.S_IFMT(status.st_mode), "mode": stat.S_IMODE(status.st_mode), "size": status.st_size,
              "mtime": status.st_mtime_ns, "uid": status.st_uid, "gid": status.st_gid, "names": status.st_nlink,
              "inode": status.st_ino, "blocks": status.st_blocks}
    if stat.S_ISREG(status.st_mode):
        try:
            with open(path, "rb") as file:
                record["digest"] = hashlib.sha256(file.read()).hexdigest()
        except OSError as error:
            record["digest"] = f"errno {error.errno}"
    if stat.S_ISLNK(status.st_mode):
        record["target"] = os.readlink(path)
    else:
        record["notes"] = {}
        for name in os.listxattr(path, follow_symlinks=False):
            if name.startswith("user."):
                try:
                    record["notes"][name] = os.getxattr(path, name, follow_symlinks=False).hex()
                except OSError as error:
                    record["notes"][name] = f"errno {error.errno}"
    return record


def snapshot(top):
    found = {}

    def walk(path, name):
        try:
            found[name] = record_of(path)
            children = sorted(os.listdir(path)) if stat.S_ISDIR(found[name]["type"]) else []
        except FileNotFoundError:
            return
        except OSError as error:
            found.setdefault(name, {})["errno"] = error.errno
            return
        for child in children:
            walk(f"{path}/{child}", f"{name}/{child}" if name else child)

    walk(top, "")
    return found or None


if __name__ == "__main__":
    print(json.dumps({name: snapshot(name) for name in json.load(sys.stdin)}))

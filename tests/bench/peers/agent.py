#!/usr/bin/env python3
"""Runs what the bench asks for on an emulated host.  What the bench asks for, a line of JSON each, answered by one.

One agent runs per host, so that a program starts at once on a command, its CPU time is what the
kernel accounts to it and its children alone, and every time is one machine's CLOCK_REALTIME.
"""

import ctypes
import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

IN_MODIFY, IN_CLOSE_WRITE, IN_MOVED_TO = 0x2, 0x8, 0x80
PR_SET_CHILD_SUBREAPER = 36
running = {}  # request -> process
speaking = threading.Lock()


def start(request):
    """Runs argv to its end; what it prints goes to the file `out`."""
    with open(request["out"], "wb") as out:
        began = time.time()
        process = subprocess.Popen(request["argv"], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT,
                                   env={**os.environ, **request.get("env", {})}, start_new_session=True)
    process.stdin.write(request.get("input", "").encode())
    process.stdin.flush()
    running[request["id"]] = process
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    del running[request["id"]]
    with open(request["out"], errors="replace") as out:
        text = out.read(1 << 20)
    process.stdin.close()
    return {"rc": process.returncode, "began": began, "ended": time.time(), "cpu": used.ru_utime + used.ru_stime, "text": text}


def press(request):
    """A key, for the program that request `of` started and that waits for one."""
    process = running[request["of"]]
    at = time.time()
    process.stdin.write(b"\n")
    process.stdin.flush()
    return {"at": at}


def feed(request):
    """More input, for the program that request `of` started."""
    stdin = running[request["of"]].stdin
    stdin.write(request["text"].encode())
    stdin.flush()
    return {}


def stop(request):
    """A signal to what request `of` started, and to its children."""
    process = running.get(request["of"])
    if process is not None:
        os.killpg(process.pid, request["signal"])
    return {"was_running": process is not None}


def wait_for(request):
    """Until the file `path` has `text` in it `count` times: a port is bound, a program says that it is ready."""
    until = time.monotonic() + request["seconds"]
    while time.monotonic() < until:
        try:
            with open(request["path"], errors="replace") as file:
                text = file.read()
                if text.count(request["text"]) >= request["count"]:
                    return {"seen": True, "text": text}
        except FileNotFoundError:
            pass
        time.sleep(0.01)
    return {"seen": False}


def watch(request):
    """When the file `path` was last written, closed or renamed to, seen as it happens until `size` bytes are there.

    An inode's own times are as coarse as the kernel's tick, which is too coarse for a few milliseconds; but every
    write wakes us, which is too dear for a large file.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    place, name = os.path.split(request["path"])
    inotify = libc.inotify_init1(os.O_CLOEXEC)
    if inotify < 0 or libc.inotify_add_watch(inotify, place.encode(), IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO) < 0:
        raise OSError(ctypes.get_errno(), "inotify")
    with open(inotify, "rb", buffering=0) as events:
        while True:
            batch, at = events.read(4096), time.time()
            if any(one == name for one in names_in(batch)) and os.path.getsize(request["path"]) == request["size"]:
                return {"at": at}


def names_in(batch):
    offset = 0
    while offset < len(batch):
        length = struct.unpack_from("iIII", batch, offset)[3]
        yield batch[offset + 16:offset + 16 + length].rstrip(b"\0").decode()
        offset += 16 + length


def copy(request):
    shutil.copyfile(request["path"], request["to"])
    return {}


def write(request):
    with open(request["path"], "w") as file:
        file.write(request["text"])
    return {}


def look(request):
    """Digest and size of a file, and when its inode last changed: the last write, or the rename."""
    try:
        with open(request["path"], "rb") as file:
            state = os.fstat(file.fileno())
            return {"sha256": hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest")
                    else hashlib.sha256(file.read()).hexdigest(), "size": state.st_size, "changed": state.st_ctime}
    except FileNotFoundError:
        return {"sha256": None, "size": 0, "changed": 0}


def remove(request):
    for path in request["paths"]:
        try:
            os.remove(path)
        except FileNotFoundError:
            pass
    return {}


def parents():
    """Each process of this host and its parent."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                found[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            pass  # it ended meanwhile
    return found


def sweep(_request):
    """Ends whatever came from us, however often it forked: a launcher's orphans would spoil the next tool's time."""
    ours, parent_of = {os.getpid()}, parents()
    while more := {process for process, parent in parent_of.items() if parent in ours} - ours:
        ours |= more
    ours.remove(os.getpid())
    for process in ours:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
    for process in ours - {one.pid for one in list(running.values())}:
        try:
            os.waitpid(process, 0)
        except ChildProcessError:
            pass  # its own parent has waited for it
    return {"ended": len(ours)}


def sent(_request):
    """What left this host so far, in bytes with all headers: the rate limit counts each packet of a train, the link doesn't."""
    queues = json.loads(subprocess.check_output(["tc", "-s", "-j", "qdisc", "show", "dev", "eth0"]) or b"[]")
    for queue in queues:
        if queue["kind"] == "tbf":
            return {"bytes": queue["bytes"]}
    with open("/sys/class/net/eth0/statistics/tx_bytes") as file:
        return {"bytes": int(file.read())}


ACTIONS = {"start": start, "press": press, "feed": feed, "stop": stop, "wait_for": wait_for, "watch": watch, "copy": copy, "write": write, "look": look,
           "remove": remove, "sweep": sweep, "sent": sent}


def answer(request):
    try:
        reply = ACTIONS[request["do"]](request)
    except (OSError, KeyError) as error:
        reply = {"error": f"{request['do']}: {error}"}
    with speaking:
        print(json.dumps({"id": request["id"], **reply}), flush=True)


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for line in sys.stdin:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()
    sweep({})  # no command follows


if __name__ == "__main__":
    main()

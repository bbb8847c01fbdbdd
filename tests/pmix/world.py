"""A small machine for one test run: own mounts, own network, a munged, two users."""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import time

ALICE, BOB = 2001, 2002
BUILD = os.environ.get("BUILD", "build")
HERE = os.path.dirname(os.path.abspath(__file__))


def enter():
    """Re-executes this program in new namespaces, where it may mount and listen as it likes."""
    if os.environ.get("PMIX_TEST_WORLD") == "yes":
        return
    os.environ["PMIX_TEST_WORLD"] = "yes"
    os.environ["BUILD"] = os.path.abspath(BUILD)
    own_root = os.path.join(HERE, "..", "net", "own_root.py")
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "unchanged", "--net", "--pid", "--fork",
                          "--kill-child", own_root, "/mnt",
                          "sh", "-c", 'mount -t proc proc /proc && exec "$@"', "sh",
                          sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]])


def set_up():
    """Loopback, a private /run and /tmp, the programs where every user may, a munged."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sh22x", b"lo", 0x41)  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(s, 0x8914, request)
    # Read before /tmp is hidden, which may be where they were built.
    names = ("stagecast-pmix-host", "pmix-probe")
    contents = {name: open(os.path.join(BUILD, name), "rb").read() for name in names}
    # The repository itself may lie below /tmp: it is held open, and bound back over the mount.
    top = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    held = os.open(top, os.O_PATH)
    for point in ("/run", "/tmp"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "test", point], check=True)
    if not os.path.exists(top):
        os.makedirs(top)
        subprocess.run(["mount", "--no-canonicalize", "--bind", f"/proc/{os.getpid()}/fd/{held}", top],
                       check=True)
    os.close(held)
    os.mkdir("/tmp/bin", 0o755)
    for name, content in contents.items():
        with open(place(name), "wb") as file:
            file.write(content)
        os.chmod(place(name), 0o711 if name.endswith("host") else 0o755)
    start_munged()


def place(program):
    """Where every user may execute it."""
    return f"/tmp/bin/{program}"


def start_munged():
    os.mkdir("/run/munge", 0o755)
    with open("/run/munge.key", "wb") as file:
        file.write(os.urandom(64))
    os.chmod("/run/munge.key", 0o600)
    subprocess.run(
        ["munged", "--force", "--num-threads=4", "--key-file=/run/munge.key",
         "--socket=/run/munge/munge.socket.2", "--pid-file=/run/munge/munged.pid",
         "--log-file=/run/munge/munged.log", "--seed-file=/run/munge/seed"], check=True)


class Suite:
    """TAP: one line a test, what went wrong below it."""

    def __init__(self):
        self.tests, self.failed = [], 0

    def test(self, title):
        def add(function):
            self.tests.append((title, function))
            return function
        return add

    def run(self, part):
        """Those whose title has `part` in it."""
        chosen = [test for test in self.tests if part in test[0]]
        print(f"1..{len(chosen)}", flush=True)
        for number, (title, function) in enumerate(chosen, 1):
            began = time.monotonic()
            try:
                note = function() or ""
            except Exception as error:  # noqa: BLE001 - a test may fail in any way
                self.failed += 1
                print(f"not ok {number} {title}", flush=True)
                for line in f"{type(error).__name__}: {error}".splitlines():
                    print(f"# {line}", flush=True)
                continue
            if note.startswith("skip"):
                print(f"ok {number} {title} # {note}", flush=True)
            else:
                print(f"ok {number} {title}", flush=True)
                print(f"# {note + '; ' if note else ''}{time.monotonic() - began:.1f} s",
                      flush=True)
        return 1 if self.failed else 0

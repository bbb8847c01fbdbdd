"""The daemons' side of pmix/host_message.h, for tests: a broker that plays every node's daemon.

Written from the header and not from its code, so that both must be right about the bytes.
"""

import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

VERSION = 1
JOB, FENCE_DOWN, GROUP_DOWN, ABORT, DONE = 1, 2, 3, 4, 5
READY, ENV, CONNECTED, FINALIZED, FENCE_UP, GROUP_UP, FAILED = range(33, 40)
NAMES = {READY: "READY", ENV: "ENV", CONNECTED: "CONNECTED", FINALIZED: "FINALIZED",
         FENCE_UP: "FENCE_UP", GROUP_UP: "GROUP_UP", FAILED: "FAILED"}
DATAGRAM = 32 << 10


def blob(data):
    return struct.pack(">I", len(data)) + data


def text(word):
    return blob(word.encode())


def take_blob(data, at):
    (length,) = struct.unpack_from(">I", data, at)
    return data[at + 4:at + 4 + length], at + 4 + length


class Host:
    """A host process and what it has said. Use as a context manager."""

    def __init__(self, program, *arguments, psec="munge"):
        self.directory = tempfile.mkdtemp(prefix="stagecast-pmix-")
        os.chmod(self.directory, 0o711)
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [program, f"--tmpdir={self.directory}", f"--psec={psec}", *arguments]

        def only_three():
            os.dup2(theirs.fileno(), 3)

        with open("/dev/null") as nothing:
            self.process = subprocess.Popen(
                command, stdin=nothing, pass_fds=(3,), preexec_fn=only_three, cwd="/",
                start_new_session=True, env={"PATH": "/usr/bin:/bin"}, stderr=subprocess.PIPE)
        theirs.close()
        self.heard = []
        self.environment = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- saying
    def send(self, kind, body=b""):
        message = bytes([VERSION, kind]) + body
        if len(message) <= DATAGRAM:
            self.socket.send(message)
            return
        file = os.memfd_create("message")
        try:
            os.write(file, message)
            socket.send_fds(self.socket, [b"\xff"], [file])
        finally:
            os.close(file)

    def adopt(self, uid, gid, name_space, rank, nodes):
        os.chown(self.directory, uid, gid)
        self.send(JOB, struct.pack(">II", uid, gid) + text(name_space) +
                  struct.pack(">HI", rank, len(nodes)) + b"".join(text(n) for n in nodes))

    # ---- hearing
    def receive(self, seconds=10.0):
        """The next message as (type, body); None at the end or when nothing came in time."""
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(DATAGRAM + 1)
        except (socket.timeout, ConnectionResetError):
            return None
        if not data:
            return None
        assert data[0] == VERSION, data
        kind, body = data[1], data[2:]
        self.heard.append(NAMES.get(kind, kind))
        return kind, body

    def expect(self, wanted, seconds=20.0):
        got = self.receive(seconds)
        if got is None or got[0] != wanted:
            said = NAMES.get(got[0]) if got else "nothing"
            raise AssertionError(f"expected {NAMES[wanted]}, heard {said} {sentence(got)}")
        return got[1]

    def ready(self):
        """Whether a gate protects it from other users."""
        return self.expect(READY)[0] == 1

    def read_environment(self):
        body = self.expect(ENV)
        (count,) = struct.unpack_from(">I", body, 0)
        at, self.environment = 4, {}
        for _ in range(count):
            variable, at = take_blob(body, at)
            name, _, value = variable.decode().partition("=")
            self.environment[name] = value
        return self.environment

    @property
    def port(self):
        return int(self.environment["PMIX_SERVER_URI41"].rsplit(":", 1)[1])

    def status(self, key):
        with open(f"/proc/{self.process.pid}/status") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return line.split(":", 1)[1].split()
        return []


def sentence(got):
    if got and got[0] == FAILED:
        return take_blob(got[1], 1)[0].decode()
    return ""


def start_worker(command, environment, uid, gid, **more):
    """A worker as the spawner would start it."""

    def become():
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)

    return subprocess.Popen(command, env=environment, preexec_fn=become, cwd="/", text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


class Job:
    """N hosts and workers, and the collectives between them."""

    def __init__(self, hosts, workers, deadline=30.0):
        self.hosts, self.workers = hosts, workers
        self.until = time.monotonic() + deadline
        self.aborted = False
        self.parts = {}  # sequence -> {rank: bytes}
        self.context_id = 4711

    def abort(self):
        self.aborted = True
        for host in self.hosts:
            if host is not None:
                host.send(ABORT)

    def serve(self, on_message=None):
        """Until every host has said FINALIZED or every worker has ended."""
        selector = selectors.DefaultSelector()
        for rank, host in enumerate(self.hosts):
            selector.register(host.socket, selectors.EVENT_READ, rank)
        while time.monotonic() < self.until and any(w.poll() is None for w in self.workers):
            for key, _ in selector.select(0.05):
                got = self.hosts[key.data].receive(1.0)
                if got is None:
                    selector.unregister(key.fileobj)
                    continue
                if on_message is not None:
                    on_message(key.data, got)
                self.collective(key.data, *got)
        selector.close()

    def collective(self, rank, kind, body):
        if kind not in (FENCE_UP, GROUP_UP) or self.aborted:
            return
        (sequence,) = struct.unpack_from(">I", body, 0)
        data = take_blob(body, 4)[0] if kind == FENCE_UP else b""
        parts = self.parts.setdefault(sequence, {})
        parts[rank] = data
        if len(parts) < len(self.hosts):
            return
        down = struct.pack(">I", sequence)
        for host in self.hosts:
            if kind == FENCE_UP:
                host.send(FENCE_DOWN, down + blob(b"".join(parts[r] for r in sorted(parts))))
            else:
                host.send(GROUP_DOWN, down + struct.pack(">Q", self.context_id))


def ended(process, seconds):
    """Its output once it has ended; kills it if it does not."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        return process.communicate()

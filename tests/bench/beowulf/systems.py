"""Names the message passing systems that are compared, and starts their programs on emulated hosts.

A program runs as alice, started on the first host. The MPIs' ranks wait in the kernel where they would poll (blocking.c),
unless POLL=yes.
"""

import contextlib
import dataclasses
import os
import re
import shutil
import subprocess
import time

from hosts import SHARED, Broken, all_seen, everywhere
from tools import MPICH, OPEN_MPI, PIPELINE

ALICE = ["env", "--chdir=/tmp", "HOME=/home/alice", "USER=alice", "PVM_ROOT=/usr/lib/pvm3", f"PVM_RSH={SHARED}/rsh",
         "setpriv", "--reuid=2001", "--regid=2001", "--init-groups", "--"]
RING = ["-genv", "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE", "0", "-genv", "MPIR_CVAR_IBCAST_DEVICE_COLLECTIVE", "0",
        "-genv", "MPIR_CVAR_BCAST_INTRA_ALGORITHM", "nb", "-genv", "MPIR_CVAR_IBCAST_INTRA_ALGORITHM", "tsp_ring",
        "-genv", "MPIR_CVAR_IBCAST_RING_CHUNK_SIZE", "65536"]
RANKS = int(os.environ.get("RANKS", "1"))  # on each host
LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cluster", "lib", "sshd.bash")
WORKER = {"STAGECAST_WORKER": "/srv/stagecast/libexec/stagecast/stagecast-worker", "STAGECAST_INTERFACE": "eth0"}


@dataclasses.dataclass(frozen=True)
class System:
    name: str
    kind: str  # "openmpi", "mpich": which mpirun and which build of a program
    words: tuple = ()
    preloads: str = ""
    mode: str = ""  # of our library

    @property
    def is_blocking(self):
        return os.environ.get("POLL") != "yes"

    def environment(self):
        preload = [f"{SHARED}/{self.preloads}"] if self.preloads else []
        preload += [f"{SHARED}/blocking.so"] if self.is_blocking else []
        found = {**WORKER, **({"LD_PRELOAD": ":".join(preload)} if preload else {})}
        return {**found, "STAGECAST_BCAST": self.mode, "STAGECAST_BCAST_MIN": "1"} if self.mode == "force" else found

    def launcher(self, group, names, extra):
        words = {"mpich": MPICH, "openmpi": [*OPEN_MPI[:-1], "0"] if self.is_blocking else OPEN_MPI}[self.kind]  # (it need not yield)
        hosts = ",".join(names if self.kind == "mpich" else [f"{name}:{RANKS}" for name in names])
        words = [word.format(hosts=hosts, shared=SHARED, ranks=len(names) * RANKS) for word in words]
        if self.kind == "openmpi" and RANKS > 1:  # neighbours on one host, as MPICH places them
            words[words.index("--map-by") + 1] = "slot"
        if self.kind == "mpich":
            words[words.index("-ppn") + 1] = str(RANKS)
        for key, value in {**self.environment(), **extra}.items():
            words += ["-x", f"{key}={value}"] if self.kind == "openmpi" else ["-genv", key, value]
        return [*ALICE, *words, *self.words]


OPENMPI = System("Open MPI", "openmpi")
TUNED = System("Open MPI, pipeline of 64 KiB", "openmpi", tuple(PIPELINE))
MPICH_OWN = System("MPICH", "mpich")
MPICH_RING = System("MPICH, ring of 64 KiB", "mpich", tuple(RING))
OURS = [System("libstagecast-bcast, Open MPI", "openmpi", preloads="libstagecast-bcast-openmpi.so", mode="force"),
        System("libstagecast-bcast, MPICH", "mpich", preloads="libstagecast-bcast-mpich.so", mode="force")]


def tighten(group):
    """The lab's links let 128 KB pass at once, in which a small message costs no time. An eighth of that remains."""
    words = ["root", "tbf", "rate", group.cell.rate, "burst", "16kb", "latency", "30ms"]
    for host in group.hosts:
        group.in_switch(["tc", "qdisc", "change", "dev", f"p0-{host.name}", *words])
    finish(group, [host.start(["tc", "qdisc", "change", "dev", "eth0", *words], "/tmp/log") for host in group.hosts], 20)


def finish(group, tasks, seconds):
    """The programs' outputs. What has not ended by then is ended, and what a program left behind, too."""
    try:
        results = everywhere(tasks, seconds)
    except Broken:
        serve(group)
        raise
    for result in results:
        if result["rc"] != 0:
            raise Broken(f"exit code {result['rc']}: {result['text'].strip()[-300:]}")
    return results


def serve(group):
    """On every host what mpirun starts other programs by."""
    everywhere([host.ask("sweep") for host in group.hosts], 20)
    tasks = [host.start([*ALICE, "socat", f"UNIX-LISTEN:{SHARED}/sockets/{host.name},unlink-early,fork", "EXEC:/bin/sh"], "/tmp/socat")
             for host in group.hosts]
    all_seen([host.wait_for(f"{SHARED}/sockets/{host.name}", "/proc/net/unix") for host in group.hosts], "socat listens")
    return tasks


def run(group, system, names, program, *words, extra=None, seconds=120):
    """One program of an MPI with a rank on each of the hosts `names`; what it printed and when mpirun was called.
    MPICH's launcher may complain about ranks that left MPI_Finalize: the lines count."""
    path = program if program.startswith("/") else f"{SHARED}/{program}-{system.kind}"
    argv = [*system.launcher(group, names, extra or {}), path, *words]
    try:
        [result] = everywhere([group.source.start(argv, "/tmp/log")], seconds)
    except Broken:
        serve(group)
        raise
    if result["rc"] != 0 and system.kind != "mpich":
        raise Broken(f"{system.name}: {program} {' '.join(map(str, words))}: exit code {result['rc']}: {result['text'].strip()[-300:]}")
    return result


class Pvm:
    """A virtual machine of all hosts, the head first: a context."""

    def __init__(self, group):
        self.group, self.seconds = group, None

    def shell(self, text, seconds=60):
        return finish(self.group, [self.group.source.start([*ALICE, "bash", "-c", text], "/tmp/pvm")], seconds)[0]["text"]

    def __enter__(self):
        began = time.time()
        self.daemon = self.group.source.start([*ALICE, "pvmd", f"{SHARED}/pvmhosts"], "/tmp/pvmd")
        all_seen([self.group.source.wait_for("/tmp/pvmtmp", "/tmp/pvmd")], "pvmd starts")  # or the console starts one
        while not re.search(rf"^{len(self.group.hosts)} hosts", self.shell("echo conf | pvm"), re.MULTILINE):
            if time.time() > began + 60:
                raise Broken("PVM: not all hosts joined")
            time.sleep(0.1)
        self.seconds = time.time() - began
        return self

    def run(self, *words, seconds=120):
        return finish(self.group, [self.group.source.start([*ALICE, f"{SHARED}/patterns-pvm", *words], "/tmp/log")], seconds)[0]["text"]

    def __exit__(self, *_):
        try:
            self.shell("echo halt | pvm", 10)
        except Broken:
            pass
        serve(self.group)


# ---- what the figures about files need

def prepare(group):
    """Directories for alice, names for PVM, the command, links that shape small messages, too."""
    place = subprocess.check_output([*group.lab, "path"], text=True).strip()
    os.makedirs(os.path.join(place, "srv", "stagecast", "bin"), exist_ok=True)
    shutil.copy(os.path.join(group.build, "stagecast"), os.path.join(place, "srv", "stagecast", "bin"))
    everywhere([group.source.start(["bash", "-c", f"chown 2001:2001 {SHARED}/sockets && chmod 644 /tmp/source"], "/tmp/log")], 20)
    tighten(group)
    everywhere([group.source.ask("write", path=f"{SHARED}/pvmhosts", text="".join(f"{host.name}\n" for host in group.hosts))], 20)
    serve(group)


def shell(group, hosts, text, seconds=60):
    return finish(group, [host.start(["bash", "-c", text], "/tmp/log") for host in hosts], seconds)


def sshd(group):
    """As the cluster tests make it: alice's own key, a daemon on each host. It stays for the next figure."""
    lab = " ".join(group.lab)
    place = subprocess.check_output([*group.lab, "path"], text=True).strip()
    alice, names = os.path.join(place, "home", "alice"), " ".join(host.name for host in group.hosts)
    if not os.path.exists(os.path.join(alice, ".ssh", "id_ed25519")):
        subprocess.run(["bash", "-c", f"lab() {{ {lab} \"$@\"; }}; ALICE={alice} CLUSTER_DIR={place}; . {LIBRARY}; sshd_keys && sshd_start {names}"],
                       check=True)


def program_with_libraries(group, program):
    """On the first host, what a shared directory would hold: /tmp/share/program and /tmp/share/lib. Its bytes."""
    shell(group, [group.source], f"rm -rf /tmp/share && mkdir -p /tmp/share/lib && cp {SHARED}/{program} /tmp/share/program && "
          "ldd /tmp/share/program | awk '$2 == \"=>\" && $3 ~ /^\\// { print $3 }' | grep -vE '/(libc|libm|libdl|librt|libpthread|libgcc_s)[.]so' | "
          "xargs -r cp -L -t /tmp/share/lib && chown -R 2001:2001 /tmp/share")
    return int(shell(group, [group.source], "du -sbL /tmp/share | cut -f1")[0]["text"])


@contextlib.contextmanager
def file_system(group, names):
    """The first host's /tmp/share as /tmp/net, over the network and with nothing in memory yet. (sshfs without ssh: the kernel has no
    NFS server in a namespace.)"""
    clients = [host for host in group.hosts if host.name in names]
    server = group.source.start([*ALICE, "socat", "TCP-LISTEN:7100,fork,reuseaddr", "EXEC:/usr/lib/openssh/sftp-server -R"], "/tmp/sftp")
    all_seen([group.source.wait_for(":1BBC ", "/proc/net/tcp")], "the server listens")
    try:
        shell(group, clients, f"mkdir -p /tmp/net && sshfs -o directport=7100,allow_other,ro {group.source.address}:/tmp/share /tmp/net")
        yield
    finally:
        shell(group, clients, "! mountpoint -q /tmp/net || umount -l /tmp/net")
        group.source.stop(server)


def push(group, names):
    """Stages the directory of the program and its libraries, without daemons."""
    shell(group, [host for host in group.hosts if host.name in names], "rm -rf /tmp/st && install -d -o 2001 -g 2001 /tmp/st")
    argv = [*ALICE, "/srv/stagecast/bin/stagecast", "push", "--launcher=ssh", "--interface=eth0",
            "-w", ",".join(names), "/tmp/share", "/tmp/st/share"]
    finish(group, [group.source.start(argv, "/tmp/log")], 120)

"""Starts each tool and reads when it began and ended: one class per tool, configured as its manual recommends.

run(group) leaves the file as /tmp/received on every receiver and returns a Run. `began` is the moment at which
the last member was ready (peers: at which the sender got its command to start); `held` is when the last receiver held
the file, or None if its inode tells (the last write or the rename). No digest is included in the time but
stagecast's, which checks before it renames.
"""

import dataclasses
import json
import os
import re
import sys

from hosts import BENCH, SHARED, WORKER, Broken, all_seen, everywhere

sys.path.insert(0, os.path.join(BENCH, "..", "net"))
from member import CARD, card_in, key_line, table_line  # noqa: E402

SOURCE, DEST = "/tmp/source", "/tmp/received"
BUFFER = 4 << 20  # of sockets, where a tool takes one


@dataclasses.dataclass
class Run:
    began: float
    held: float | None
    cpu: float  # seconds, of all members together
    note: str = ""


def rate_of(cell, share=1.0):
    """The rate that a peer is configured with, in bits per second; without a limit, 10 Gbit/s."""
    return int((cell.rate_bits or 10**10) * share)


def succeeded(results, what):
    for result in results:
        if result["rc"] != 0:
            words = result["text"].strip().splitlines()[-1:] or [""]
            raise Broken(f"{what}: exit code {result['rc']}: {words[0][:120]}")
    return results


def start_workers(group, words, dest_of):
    """The group's workers, the source's first, with this program as their launcher."""
    key, log = key_line(), f"/tmp/log.{os.urandom(4).hex()}"  # A log of an earlier group has another's cards.
    tasks = []
    for host in group.hosts:
        part = f"--source={SOURCE}" if host is group.source else f"--dest={dest_of(host)}"
        tasks.append(host.start([WORKER, *words, f"--members={len(group.hosts)}", "--interface=eth0", part], log, text=key))
    seen = everywhere([host.wait_for(CARD, log) for host in group.hosts], 60)
    if all(one["seen"] for one in seen):
        table = table_line([card_in(one["text"]) for one in seen])
        everywhere([host.feed(task, table) for host, task in zip(group.hosts, tasks)], 60)
    return tasks


class Stagecast:
    """The engine alone; protection is the default, encrypt, unless it says otherwise."""

    def __init__(self, name="stagecast", share=None, transport="auto", protection="encrypt"):
        self.name, self.share, self.transport, self.protection = name, share, transport, protection

    def fits(self, cell):
        return self.share is None or cell.rate_bits is not None

    def run(self, group):
        limit = group.cell.limit_seconds
        words = [f"--timeout={limit:.0f}", f"--transport={self.transport}", f"--protection={self.protection}"]
        if self.share:
            words.append(f"--rate={rate_of(group.cell, self.share)}bit")
        if self.transport == "tcp":
            words.append(f"--relay={os.environ.get('RELAY', 'auto')}")
        tasks = start_workers(group, words, lambda host: DEST)
        return read_stagecast(succeeded(everywhere(tasks, limit + 10), self.name))


def read_stagecast(results):
    """From the workers' lines: each began `seconds` before it held the file, once the group was wired up."""
    lines = [json.loads(result["text"].strip().splitlines()[-1]) for result in results]
    receivers = [line for line in lines if line["rank"] != 0]
    began = max(line["held_at"] - line["seconds"] for line in lines if line["held_at"])
    repaired = sum(line["packets_repaired"] for line in receivers)
    return Run(began, None, sum(result["cpu"] for result in results),
               f"{repaired} packets repaired")


class Uftp:
    """Registration ends when all listed clients are there; the round trip starts at 10 ms, not at half a second. Its rate
    leaves out 40 bytes of headers a packet: configured with 99 %, it fills the link's queue, and no answer to DONE comes in time."""

    def __init__(self, name="uftp", share=0.96, tfmcc=False):
        self.name, self.share, self.tfmcc = name, share, tfmcc

    def fits(self, _cell):
        return True

    def run(self, group):
        limit = group.cell.limit_seconds
        clients = ",".join("0x" + "".join(f"{int(part):02X}" for part in host.address.split(".")) for host in group.receivers)
        daemons = [host.start(["uftpd", "-d", "-q", "-D", "/tmp", "-I", "eth0", "-B", BUFFER, "-c", 20 << 20], "/tmp/log")
                   for host in group.receivers]
        all_seen([host.wait_for(":0414 ", "/proc/net/udp") for host in group.receivers], "uftpd listens")
        kbps = rate_of(group.cell, self.share) // 1000
        rate = ["-C", f"tfmcc:max={rate_of(group.cell) // 1000}"] if self.tfmcc else ["-R", kbps]
        sender = group.source.start(["uftp", "-I", "eth0", "-B", BUFFER, "-b", 1400, "-r", "0.01:0.01:1", *rate, "-H", clients,
                                     "-D", "received", SOURCE], "/tmp/log")
        try:
            [sent] = succeeded(everywhere([sender], limit), self.name)
        finally:
            for host, task in zip(group.hosts, [sender, *daemons]):
                host.stop(task, 9 if task is sender else 15)
        ended = everywhere(daemons, 20)
        return Run(sent["began"], None, sent["cpu"] + sum(one["cpu"] for one in ended))


class Udpcast:
    """Full duplex. All receivers are connected before the key is pressed that starts it (--min-receivers waits
    for 2 s of silence). FEC: 8 packets more per stripe of 128, which 1 % loss seldom exceeds."""

    def __init__(self, name="udpcast", share=0.99, fec=None):
        self.name, self.share, self.fec = name, share, fec

    def fits(self, cell):
        return self.fec is None or cell.loss_share > 0

    def run(self, group):
        limit = group.cell.limit_seconds
        common = ["--interface", "eth0", "--no-progress", "--file"]
        # The wait after the end guards the last acknowledgement; it is not on the clock.
        tasks = [host.start(["udp-receiver", *common, DEST, "--nokbd", "--exit-wait", 200], "/tmp/log") for host in group.receivers]
        all_seen([host.wait_for(":2328 ", "/proc/net/udp") for host in group.receivers], "udp-receiver listens")
        words = ["udp-sender", *common, SOURCE, "--full-duplex", "--max-bitrate", rate_of(group.cell, self.share)]
        words += ["--fec", self.fec] if self.fec else []
        words += ["--rexmit-hello-interval", 200] if group.cell.loss_share else []  # or who misses the first never connects
        sender = group.source.start(words, "/tmp/log")
        try:
            all_seen([group.source.wait_for("New connection", count=len(tasks))], "udp-sender has all receivers")
            [pressed] = everywhere([group.source.press(sender)], 20)
            [sent] = succeeded(everywhere([sender], limit), self.name)
            ended = succeeded(everywhere(tasks, 20), self.name)
        finally:
            for host, task in zip(group.hosts, [sender, *tasks]):
                host.stop(task, 9)
        return Run(pressed["at"], None, sent["cpu"] + sum(one["cpu"] for one in ended))


class Tcp:
    """relay.c: a chain through all receivers, or a copy to each of them at once."""

    def __init__(self, name, chained):
        self.name, self.chained = name, chained

    def fits(self, cell):
        return self.chained or cell.receivers <= 16  # N copies take N times as long; that needs no more proof

    def run(self, group):
        limit, hosts = group.cell.limit_seconds, group.receivers
        following = [*hosts[1:], None] if self.chained else [None] * len(hosts)
        tasks = [host.start([f"{SHARED}/relay", 7000, DEST, *([after.address, 7000] if after else [])], "/tmp/log")
                 for host, after in zip(hosts, following)]
        all_seen([host.wait_for("ready") for host in hosts], "relay listens")
        targets = hosts[:1] if self.chained else hosts
        senders = [group.source.start([f"{SHARED}/relay", "-", SOURCE, host.address, 7000], f"/tmp/log-{host.rank}")
                   for host in targets]
        try:
            ended = succeeded(everywhere([*senders, *tasks], limit), self.name)
        finally:
            for host, task in [*((group.source, task) for task in senders), *zip(hosts, tasks)]:
                host.stop(task, 9)
        return Run(min(one["began"] for one in ended[:len(senders)]), None, sum(one["cpu"] for one in ended))


class Mpi:
    """bcast.c under mpirun; the file is in every rank's memory at the end, not yet written. Ranks poll while they
    wait, which fills the cores of a machine with fewer cores than ranks."""

    def __init__(self, name, program, launcher):
        self.name, self.program, self.launcher = name, program, launcher

    def fits(self, cell):
        return cell.size < 1 << 31

    def run(self, group):
        limit = group.cell.limit_seconds + 20
        servers = [host.start(["socat", f"UNIX-LISTEN:{SHARED}/sockets/{host.name},unlink-early,fork", "EXEC:/bin/sh"], "/tmp/socat")
                   for host in group.hosts]
        all_seen([host.wait_for(f"{SHARED}/sockets/{host.name}", "/proc/net/unix") for host in group.hosts], "socat listens")
        names = ",".join(host.name for host in group.hosts)
        words = [word.format(hosts=names, shared=SHARED, ranks=len(group.hosts)) for word in self.launcher]
        task = group.source.start([*words, f"{SHARED}/{self.program}", SOURCE, DEST], "/tmp/log",
                                  env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        try:  # MPICH's MPI_Finalize may wait for ever here; all we want was said before
            all_seen([group.source.wait_for("\nbcast ", count=len(group.hosts), seconds=limit)], f"{self.name}: every rank reports")
            group.source.stop(task)
            [ended] = everywhere([task], 10)
        finally:
            for host, server in zip(group.hosts, servers):
                host.stop(server, 9)
            group.source.stop(task, 9)
        return read_mpi(ended["text"], len(group.hosts))


def read_mpi(text, ranks):
    """From the ranks' lines "bcast RANK BEGAN HELD CPU "."""
    rows = [tuple(map(float, row)) for row in re.findall(r"^bcast (\d+) ([\d.]+) ([\d.]+) ([\d.]+) $", text, re.MULTILINE)]
    if len(rows) != ranks:
        raise Broken(f"MPI: {len(rows)} of {ranks} ranks reported")
    return Run(max(row[1] for row in rows), max(row[2] for row in rows), sum(row[3] for row in rows))


OPEN_MPI = ["mpirun.openmpi", "-np", "{ranks}", "--host", "{hosts}", "--map-by", "node", "--bind-to", "none", "--mca", "pml", "ob1", "--mca",
            "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0", "--mca",
            "plm_rsh_agent", "{shared}/rsh", "--mca", "mpi_yield_when_idle", "1"]
PIPELINE = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_bcast_algorithm", "3",
            "--mca", "coll_tuned_bcast_algorithm_segmentsize", "65536"]
MPICH = ["mpiexec.hydra", "-np", "{ranks}", "-ppn", "1", "-hosts", "{hosts}", "-iface", "eth0", "-launcher", "rsh",
         "-launcher-exec", "{shared}/rsh", "-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", "eth0"]

TOOLS = [
    Stagecast(),
    Stagecast("stagecast, configured rate", share=0.99),
    Stagecast("stagecast, unicast", transport="tcp"),
    Stagecast("stagecast, unicast unprotected", transport="tcp", protection="none"),
    Uftp(),
    Uftp("uftp, TFMCC", tfmcc=True),
    Udpcast(),
    Udpcast("udpcast, FEC", fec="8x8/128"),
    Tcp("TCP chain", chained=True),
    Mpi("Open MPI, pipeline", "bcast-openmpi", OPEN_MPI + PIPELINE),
    Mpi("Open MPI, default", "bcast-openmpi", OPEN_MPI),
    Mpi("MPICH", "bcast-mpich", MPICH),
    Tcp("N copies", chained=False),
]

"""Makes the emulated hosts of a cell.  One namespace, link and agent each; n0 has the file.

The hosts are tests/cluster/lab's, without Slurm: own network namespace, veth and /tmp (tmpfs), tbf in both
directions, loss by iptables in the receiver.
"""

import concurrent.futures
import json
import os
import shutil
import subprocess
import threading

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAB = os.path.join(BENCH, "..", "cluster", "lab")
SHARED = "/srv/bench"  # on every host the same files
WORKER = "/srv/stagecast/libexec/stagecast/stagecast-worker"


class Broken(Exception):
    """A host or a tool did not do what it should; the sentence says which."""


class Host:
    """An emulated host's agent. Every call returns a future of its answer."""

    def __init__(self, lab, rank):
        self.rank = rank
        self.name = f"n{rank}"
        self.address = f"10.77.{rank // 250 + 1}.{rank % 250 + 1}"
        self.waiting, self.next_id, self.lock = {}, 0, threading.Lock()
        self.agent = subprocess.Popen([*lab, "on", self.name, "python3", f"{SHARED}/agent.py"], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.agent.stdout:
            reply = json.loads(line)
            future = self.waiting.pop(reply.pop("id"))
            if "error" in reply:
                future.set_exception(Broken(f"{self.name}: {reply['error']}"))
            else:
                future.set_result(reply)
        for future in self.waiting.values():
            future.set_exception(Broken(f"{self.name}: its agent ended"))

    def ask(self, do, **words):
        future = concurrent.futures.Future()
        with self.lock:
            self.next_id += 1
            future.number = self.next_id
            self.waiting[self.next_id] = future
            print(json.dumps({"id": self.next_id, "do": do, **words}), file=self.agent.stdin, flush=True)
        return future

    def start(self, argv, out, env=None, text=""):
        return self.ask("start", argv=[str(word) for word in argv], out=out, env=env or {}, input=text)

    def wait_for(self, text, path="/tmp/log", count=1, seconds=20):
        return self.ask("wait_for", path=path, text=text, count=count, seconds=seconds)

    def press(self, task):
        return self.ask("press", of=task.number)

    def feed(self, task, text):
        return self.ask("feed", of=task.number, text=text)

    def stop(self, task, signal=15):
        return self.ask("stop", of=task.number, signal=int(signal))


class Group:
    """The hosts of one cell, the source first: a context that brings them up and takes them down."""

    def __init__(self, cell, build):
        self.cell, self.build, self.hosts = cell, build, []
        self.lab = [LAB, "--name", f"bench-{os.getpid()}"]

    def __enter__(self):
        options = ["--hosts", "--build", self.build, "--owner", str(os.getpid())]
        options += ["--rate", self.cell.rate] if self.cell.rate != "none" else []
        options += ["--loss", self.cell.loss] if self.cell.loss_share else []
        size = self.cell.size * 2 + (64 << 20)
        subprocess.run([*self.lab, "up", str(self.cell.receivers + 1), *options, "--local-size", str(size)], check=True)
        try:
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def prepare(self):
        place = os.path.join(subprocess.check_output([*self.lab, "path"], text=True).strip(), "srv", "bench")
        os.makedirs(os.path.join(place, "sockets"))
        for name in ("agent.py", "rsh"):
            shutil.copy(os.path.join(BENCH, "peers", name), place)
        programs = os.path.join(self.build, "bench")  # the peers' own, if they take part
        for name in os.listdir(programs) if os.path.isdir(programs) else []:
            shutil.copy(os.path.join(programs, name), place)
        self.hosts = [Host(self.lab, rank) for rank in range(self.cell.receivers + 1)]
        self.route(int(os.environ.get("ROUTED", "0")))
        with open(os.path.join(place, "hosts"), "w") as file:
            file.writelines(f"{host.address}\n" for host in self.hosts)
        with open(os.path.join(place, "source"), "wb") as file:
            file.write(os.urandom(self.cell.size))
        self.acquaint()
        self.block_multicast(int(os.environ.get("BLOCKED", "0")))
        everywhere([self.hosts[0].ask("copy", path=f"{SHARED}/source", to="/tmp/source")], 60)
        os.remove(os.path.join(place, "source"))

    def route(self, count):
        """The last `count` receivers are in a subnet of their own, behind a router that routes no multicast."""
        if not count:
            return
        for line in ("ip link add br-far type bridge mcast_snooping 0", "ip link set br-far up",
                     "ip addr add 10.77.255.254/16 dev br0", "ip addr add 10.78.255.254/16 dev br-far",
                     "sysctl -qw net.ipv4.ip_forward=1"):
            self.in_switch(line.split())
        for host in self.hosts:
            lines = "route add 10.78.0.0/16 via 10.77.255.254\n"
            if host in self.hosts[len(self.hosts) - count:]:
                self.in_switch(["ip", "link", "set", f"p0-{host.name}", "master", "br-far"])
                near, host.address = host.address, host.address.replace("10.77.", "10.78.")
                lines = (f"addr del {near}/16 dev eth0\naddr add {host.address}/16 brd + dev eth0\n"
                         "route add 224.0.0.0/4 dev eth0\nroute add 10.77.0.0/16 via 10.78.255.254\n")
            everywhere([host.ask("write", path="/tmp/route", text=lines)], 60)
            everywhere([host.start(["ip", "-force", "-batch", "/tmp/route"], "/tmp/log")], 60)

    def block_multicast(self, count):
        """The last `count` receivers get no multicast packet, as behind a switch that does not forward the group."""
        words = ["iptables", "-w", "-t", "raw", "-A", "PREROUTING", "-p", "udp", "-d", "224.0.0.0/4", "-j", "DROP"]
        for result in everywhere([host.start(words, "/tmp/log") for host in self.hosts[len(self.hosts) - count:]], 60):
            if result["rc"] != 0:
                raise Broken(f"iptables: {result['text'][-200:]}")

    def acquaint(self):
        """Every host gets every other's hardware address for good. What they learn by themselves shares one table of
        1024 entries in the kernel, whatever the namespace, and 32 hosts that talk to each other fill it."""
        tasks = [host.start(["cat", "/sys/class/net/eth0/address"], "/tmp/log") for host in self.hosts]
        links = [result["text"].strip() for result in everywhere(tasks, 60)]
        for host in self.hosts:
            lines = [f"neigh replace {other.address} lladdr {link} dev eth0 nud permanent\n"
                     for other, link in zip(self.hosts, links)
                     if other is not host and other.address[:6] == host.address[:6]]
            everywhere([host.ask("write", path="/tmp/neighbours", text="".join(lines))], 60)
        for result in everywhere([host.start(["ip", "-batch", "/tmp/neighbours"], "/tmp/log") for host in self.hosts], 60):
            if result["rc"] != 0:
                raise Broken(f"ip neigh: {result['text'][-200:]}")

    def __exit__(self, *_):
        for host in self.hosts:
            host.agent.stdin.close()
        for host in self.hosts:
            try:
                host.agent.wait(10)
            except subprocess.TimeoutExpired:
                host.agent.kill()
        subprocess.run([*self.lab, "down"], check=False)

    def in_switch(self, argv):
        """Runs a command in the network namespace that holds the switch's ports, p0-n0 and on."""
        place = subprocess.check_output([*self.lab, "path"], text=True).strip()
        with open(os.path.join(place, "cluster.pid")) as file:
            subprocess.run(["nsenter", "--target", file.read().strip(), "--net", "--", *argv], check=True)

    @property
    def source(self):
        return self.hosts[0]

    @property
    def receivers(self):
        return self.hosts[1:]


def everywhere(futures, seconds):
    """The answers of several hosts, in their order."""
    done, late = concurrent.futures.wait(futures, seconds)
    if late:
        raise Broken(f"{len(late)} of {len(futures)} hosts were not done after {seconds:.0f} s")
    return [future.result() for future in futures]


def all_seen(futures, what):
    """Waits for what `wait_for` was asked for."""
    seen = everywhere(futures, 60)
    if not all(one["seen"] for one in seen):
        raise Broken(f"{what}: {sum(not one['seen'] for one in seen)} of {len(seen)} hosts never said so")

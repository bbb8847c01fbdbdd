"""Controls an emulated cluster from Python programs.  tests/cluster/lab as an object: up, commands, down."""

import os
import subprocess

LAB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lab")


class Lab:
    def __init__(self, name, nodes, options, seconds=150):
        """Brings up what BUILD names, or build/; it ends with this process. A command has a time limit in seconds."""
        if os.geteuid() != 0:
            raise SystemExit("an emulated cluster needs root")
        if os.environ.get("BUILD"):
            options = options + ["--build", os.path.abspath(os.environ["BUILD"])]
        self.command, self.seconds = [LAB, "--name", name], seconds
        made = subprocess.run(self.command + ["up", str(nodes), "--owner", str(os.getpid())] + options,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if made.returncode:
            raise RuntimeError("the lab did not come up: " + made.stdout + made.stderr)
        self.directory = subprocess.run(self.command + ["path"], capture_output=True, text=True, check=True).stdout.strip()

    def down(self):
        subprocess.run(self.command + ["down"], stdin=subprocess.DEVNULL, check=False)

    def entering(self, host, user="root", directory="/"):
        return self.command + (["exec"] if host == "login" else ["on", host]) + ["-u", user, "-d", directory]

    def shell(self, host, script, user="root", directory="/", seconds=None):
        """Runs a bash script there; (exit code, what it printed)."""
        bounded = ["timeout", "-k", "5", str(seconds or self.seconds), "bash", "-s"]
        done = subprocess.run(self.entering(host, user, directory) + bounded, input=os.fsencode(script),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, os.fsdecode(done.stdout)

    def start_daemon(self, node):
        subprocess.run(self.command + ["start", node, "stagecastd"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)

    def copy(self, path, name, executable=False):
        """A file of this machine's, as /srv/NAME of every host."""
        to = f"{self.directory}/srv/{name}"
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(path, encoding="utf-8") as file, open(to, "w", encoding="utf-8") as copy:
            copy.write(file.read())
        os.chmod(to, 0o755 if executable else 0o644)

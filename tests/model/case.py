"""One drawn run as plain values, which can be copied, made smaller, run, judged and printed.

A source, and what stands at a destination before, are shell lines: what makes them is what is
printed when a run fails.
"""

from dataclasses import dataclass, field

NODES = ("n0", "n1", "n2")
HOME_OF = {"alice": 2001, "bob": 2002}
GROUP = 2100  # "project": both are in it


@dataclass
class Source:
    kind: str  # file link tree tar zip program; missing unreadable pipe bad-tree; refused flipped
    name: str
    lines: list = field(default_factory=list)  # run as the user, in the source's own directory
    way: str = ""  # of an archive: the options that it was made with
    answer: int = 0  # of a program: the exit code that its own library gives it

    def is_archive(self):
        return self.kind in ("tar", "zip", "refused", "flipped")

    def is_bad(self):
        """Whatever is asked of it, it can't be staged."""
        return self.kind in ("missing", "unreadable", "pipe", "bad-tree")

    def stem(self):
        """An archive's name without its ending."""
        for ending in (".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2", ".tar.lz4", ".tgz", ".tzst", ".tar", ".zip"):
            if self.name.endswith(ending):
                return self.name[: -len(ending)]
        return self.name


@dataclass
class Spec:
    source: int  # its number in the case
    dst: str = ""  # as written; absolute ones hold the run's own names
    flags: list = field(default_factory=list)
    absolute_src: bool = False
    prior: dict = field(default_factory=dict)  # node -> kind of what stands at DST before
    place: str = ""  # what is to be said of DST: "" nothing; small root-owned missing forbidden illegal

    def is_absolute(self):
        return self.dst.startswith("/")

    def existing(self):
        return next((f for f in self.flags if f in ("keep", "newer", "overwrite")), "")


@dataclass
class Case:
    seed: int
    user: str = "alice"
    form: str = "srun"  # sbatch srun salloc array step both
    how: str = "option"  # option env list list-crlf directive
    nodes: list = field(default_factory=lambda: list(NODES))
    sources: list = field(default_factory=list)
    specs: list = field(default_factory=list)  # the job's, or the step's where form is step
    own: list = field(default_factory=list)  # the step's, where form is both
    twice: str = ""  # a second job of the same user asks for the same: "" none, "beside" it, "after" it
    umask: int = 0o22  # of the submission
    more: list = field(default_factory=list)  # other options of stagecast's
    disturbance: str = ""  # see draw.DISTURBANCES
    node: str = "n0"  # the node that is disturbed
    delay: float = 0.1  # seconds

    def base(self):
        return f"/home/{self.user}/m{self.seed}"

    def mark(self):
        """Every name that the run makes outside of base() begins so."""
        return f"m{self.seed}."

    def requests(self):
        """(tag, specs, whether a step asks)"""
        first = [("job" if self.form != "step" else "step", self.specs, self.form == "step")]
        return first + ([("own", self.own, True)] if self.form == "both" else [])

    def needs_the_cluster_alone(self):
        return self.disturbance in ("daemon-killed", "daemon-paused", "worker-killed")

    def source_of(self, spec):
        return self.sources[spec.source]

    def where(self, spec):
        """Where its file comes to: absolute, or below the directory of the job or the step."""
        source = self.source_of(spec)
        name = source.stem() if "extract" in spec.flags else source.name
        dst = spec.dst + name if spec.dst == "" or spec.dst.endswith("/") else spec.dst
        parts = [part for part in dst.split("/") if part not in ("", ".")]
        return ("/" if dst.startswith("/") else "") + "/".join(parts)

    def is_directory(self, spec):
        return self.source_of(spec).kind in ("tree", "bad-tree") or "extract" in spec.flags

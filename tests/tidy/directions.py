"""Checks which folder may include headers of which other folder.

The arrows of docs/ARCHITECTURE.md as a table, and which folders know which library.
"""

import re

# For each room, what it may include besides itself: the plan of docs/ARCHITECTURE.md. A folder
# stands for its own files, not for those of folders in it; what ends in a dot is one file.
# tests/ may include everything.
BASE = ["transport/base", "transport/os"]
SETTINGS = ["transport/settings"]
CORE = ["transport/base", "transport/wire", "transport/core/base"] + SETTINGS
SENDING = CORE + ["transport/core/sending"]
FEEDBACK = SENDING + ["transport/core/feedback"]
MEMBER = FEEDBACK + ["transport/core/membership", "transport/core/repair"]
# A fabric sees its interface, never the core.
FABRIC = BASE + ["transport/wire", "transport/fabric"]
OBJECT = BASE + ["transport/core/base", "transport/wire", "transport/run/object"]
MEMBERS = ["transport/fabric", "transport/fabrics"]
REQUEST = BASE + ["stager/control", "stager/spec"]
FILES = REQUEST + ["stager/disk", "stager/content", "stager/removal", "stager/files/manifest"]
TARGET = FILES + ["stager/files/source", "stager/files/target", "transport/run/object"]
MEMBERS_FILES = TARGET + ["stager/files/sink", "stager/files/libraries"]
WORKER = MEMBERS_FILES + SETTINGS + ["stager/config", "stager/messages", "pmix", "transport/run", "transport/seal"]
DAEMON = REQUEST + SETTINGS + ["stager/config", "stager/messages", "stager/link", "stager/spawn"] + [
    "stager/slurm", "stager/cache", "stager/content", "stager/daemon/base"]
COMMAND = REQUEST + SETTINGS + ["stager/config", "stager/disk", "stager/cache", "stager/cli/common"]

MAY_INCLUDE = {
    "transport/base": [],
    "transport/os": BASE,
    # What a site or a caller chooses: known above the engine, too.
    "transport/settings": ["transport/base"],
    "transport/wire": ["transport/base"],
    "transport/seal": ["transport/base", "transport/wire"] + SETTINGS,
    "transport/fabric": BASE,
    "transport/core/base": CORE,
    "transport/core/sending": CORE,
    "transport/core/feedback": SENDING,
    "transport/core/repair": SENDING,
    "transport/core/rate": FEEDBACK,
    "transport/core/membership": FEEDBACK,
    "transport/core/source": MEMBER + ["transport/core/rate"],
    "transport/core/receiver": MEMBER,
    # A relay's receiver assembles blocks as a multicast receiver does.
    "transport/core/relay": MEMBER + ["transport/core/receiver"],
    "transport/run/object": OBJECT,
    "transport/run": OBJECT + SETTINGS + ["transport/fabric", "transport/seal", "transport/core/source", "transport/core/receiver"]
    + ["transport/core/relay"],
    "transport/run/memory": OBJECT + ["transport/run", "transport/fabric"],
    "transport/run/passage": OBJECT + SETTINGS + ["transport/run/object"],
    "transport/udp": FABRIC,
    "transport/tcp": FABRIC,
    # A leg's members have UDP and TCP.
    "transport/hop": FABRIC + ["transport/udp", "transport/tcp"],
    "transport/verbs": FABRIC,
    # The list of all fabrics: the one room, beside its own, that names each.
    "transport/fabrics": FABRIC + SETTINGS + ["transport/udp", "transport/tcp"]
    + ["transport/verbs", "transport/hop"],
    "pmix": BASE,
    "pmix/host": BASE + ["pmix"],
    "spank/host": REQUEST,
    "spank/submit": REQUEST + ["spank/host"],
    "spank/job": REQUEST + ["spank/host"],
    "spank": REQUEST + ["spank/host", "spank/submit", "spank/job"],
    "stager/control": BASE,
    "stager/spec": BASE + ["stager/control"],
    "stager/push": BASE,
    "stager/config": BASE + SETTINGS,
    "stager/messages": BASE + SETTINGS + ["stager/control"],
    "stager/disk": REQUEST,
    "stager/content": BASE + ["stager/disk"],
    "stager/removal": REQUEST + ["stager/disk"],
    "stager/spawn": REQUEST + ["stager/config", "stager/removal"],
    "stager/link": BASE + ["stager/config", "transport/seal"],
    "stager/cache": BASE + ["stager/content", "stager/disk", "stager/spawn", "stager/link"],
    "stager/slurm": BASE + ["stager/control", "stager/spawn", "stager/cache"],
    "stager/files/manifest": REQUEST + ["stager/disk", "stager/content"],
    "stager/files/source": FILES + ["transport/run/object"],
    "stager/files/target": TARGET,
    "stager/files/tree": TARGET,
    "stager/files/archive": TARGET + ["stager/files/tree"],
    "stager/files/libraries": BASE + ["stager/disk", "stager/removal"],
    "stager/files/targets": TARGET + ["stager/files/tree", "stager/files/archive"]
    + ["stager/files/libraries", "transport/core/base"],
    "stager/files/reuse": TARGET + ["stager/files/targets"],
    "stager/files/sink": TARGET + ["stager/files/targets", "stager/files/reuse"],
    "stager/worker/requests": MEMBERS_FILES + ["stager/messages"],
    "stager/worker/broadcast": WORKER + MEMBERS + ["transport/core/relay"]
    + ["transport/run/passage"],
    "stager/worker/staging": WORKER + MEMBERS + ["stager/worker/broadcast", "stager/worker/requests"],
    "stager/worker/engine": WORKER + MEMBERS + ["stager/worker/broadcast"]
    + ["stager/worker/requests", "stager/worker/staging"],
    # libstagecast-mpi runs in a user's process: it knows no file, socket or protocol.
    "stager/mpi/messages": BASE + SETTINGS,
    "stager/mpi/addresses": BASE + ["stager/mpi/messages", "transport/fabric", "transport/udp"],
    "stager/mpi": BASE + SETTINGS + ["stager/mpi/messages", "stager/mpi/addresses"],
    # libstagecast-bcast has the engine in the user's process.
    "stager/mpi/bcast": BASE + ["stager/mpi/messages", "stager/mpi/addresses", "transport/run"]
    + ["transport/fabric"]
    + ["transport/run/memory", "transport/udp", "transport/verbs", "transport/seal", "stager/config/engine_ports."]
    + SETTINGS,
    "stager/worker/called": WORKER + MEMBERS + ["stager/mpi/messages", "stager/files/targets"]
    + ["stager/mpi/addresses"]
    + ["stager/worker/broadcast", "stager/worker/engine"],
    "stager/worker": REQUEST + ["stager/messages", "stager/mpi/messages", "stager/worker/engine"]
    + ["stager/worker/staging", "stager/worker/called"],
    "stager/daemon/base": DAEMON,
    "stager/daemon/tree": DAEMON,
    "stager/daemon/group": DAEMON + ["stager/daemon/tree"],
    "stager/daemon/jobs": DAEMON,
    "stager/daemon/cache": DAEMON + ["stager/daemon/tree", "stager/daemon/jobs"],
    "stager/daemon/run": DAEMON + ["stager/daemon/tree", "stager/daemon/jobs"]
    + ["stager/daemon/cache", "pmix", "transport/udp", "transport/tcp"] + MEMBERS,
    "stager/daemon/result": DAEMON + ["stager/daemon/tree", "stager/daemon/jobs"],
    "stager/daemon/planning": DAEMON + ["stager/daemon/tree", "stager/daemon/run", "pmix"],
    "stager/daemon/legs": DAEMON + ["stager/daemon/tree", "stager/daemon/run"]
    + ["stager/daemon/planning", "transport/run/passage"],
    "stager/daemon/stage": DAEMON + ["stager/daemon/tree", "stager/daemon/group"]
    + ["stager/daemon/legs"]
    + ["stager/daemon/jobs"]
    + ["stager/daemon/run", "stager/daemon/result", "stager/daemon/planning", "pmix"],
    "stager/daemon/push": DAEMON + ["stager/push", "stager/daemon/tree", "stager/daemon/run"]
    + ["stager/daemon/planning", "stager/daemon/stage"],
    "stager/daemon/gateway": DAEMON + ["stager/daemon/tree", "stager/daemon/run"]
    + ["stager/daemon/legs"]
    + ["stager/daemon/planning", "stager/daemon/stage", "stager/daemon/push"]
    + ["transport/run/passage"],
    "stager/daemon": DAEMON + ["stager/daemon/tree", "stager/daemon/jobs", "stager/daemon/cache"]
    + ["stager/daemon/run", "stager/daemon/planning", "stager/daemon/stage"]
    + ["stager/daemon/push", "stager/daemon/gateway", "stager/daemon/legs", "stager/push"],
    "stager/cli/common": COMMAND,
    "stager/cli/push": COMMAND,
    "stager/cli/launch": COMMAND + ["stager/push", "stager/cli/push", "stager/slurm", "pmix"],
    "stager/cli/doctor/slurm": COMMAND,
    "stager/cli/doctor": COMMAND + ["stager/cli/doctor/slurm"]
    + ["stager/link", "stager/daemon/jobs", "stager/daemon/cache"]
    + ["transport/udp", "transport/verbs", "transport/fabric"],
    "stager/cli": COMMAND + ["stager/cli/push", "stager/cli/launch", "stager/cli/doctor"],
}

# Libraries: which rooms (or files) may include a header that begins so. A place that ends in a
# slash is the folder and all below it.
LIBRARY = {
    "infiniband/": ["transport/verbs"],
    "rdma/": ["transport/verbs"],
    "pmix": ["pmix", "pmix/host"],
    "slurm/": ["spank/", "stager/slurm"],
    "munge.h": ["stager/link", "pmix/host", "pmix/key_credential."],
    "archive": ["stager/files/archive"],
    "zlib.h": ["stager/files/archive"],
    "lz4": ["stager/files/archive"],
    "lzma.h": ["stager/files/archive"],
    "zstd.h": ["transport/run/object"],
    "intel-ipsec-mb.h": ["transport/seal"],
    "catch2/": [],
}

# The plugin's rooms are guests in Slurm and know only C and C++; the core is pure.
PLUGIN = ["spank/", "stager/control/", "stager/spec/", "transport/base/", "transport/os/"]
PURE = ["transport/core/", "transport/wire/"]
SEALED = PURE + ["transport/seal/"]
FORBIDDEN = {
    "openssl/": PLUGIN + PURE + ["stager/config/"],
    "boost/": PLUGIN + SEALED,
    "nlohmann/": PLUGIN + SEALED,
    "thread": PLUGIN + SEALED,
    "mutex": PLUGIN + SEALED,
    "random": PURE,
    "fstream": SEALED,
    "iostream": SEALED,
    "sys/": PURE,
    "netinet/": PURE,
    "unistd.h": PURE,
    "fcntl.h": PURE,
    "time.h": PURE,
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def folder_of(path):
    return path.rsplit("/", 1)[0]


def among(path, places):
    return any(
        path.startswith(place) if place.endswith((".", "/")) else folder_of(path) == place
        for place in places
    )


def wrong_own(path, included, tree):
    folder = folder_of(path)
    if included not in tree.texts:
        return f'"{included}" is no file; write the path from the top of the repository'
    if path.startswith("tests/") or folder_of(included) == folder:
        return None
    if folder not in MAY_INCLUDE:
        return f"{folder}/ is not in the table of tests/tidy/directions.py"
    if not among(included, MAY_INCLUDE[folder]):
        return f"{folder}/ may not include {included}"
    return None


def wrong_library(path, header):
    if path.startswith("tests/"):
        return None
    for begin, places in LIBRARY.items():
        if header.startswith(begin) and not among(path, places):
            return f"<{header}> belongs to {', '.join(places) or 'tests'}"
    for begin, places in FORBIDDEN.items():
        whole = begin.endswith(("/", ".h"))
        if (header.startswith(begin) if whole else header == begin) and among(path, places):
            return f"<{header}> has no place in {folder_of(path)}/"
    return None


def find_wrong_includes(tree):
    for path, text in tree.cpp():
        for match in INCLUDE.finditer(text):
            own, library = match.groups()
            wrong = wrong_own(path, own, tree) if own else wrong_library(path, library)
            if wrong:
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {wrong}"


def find_circles(tree):
    """Finds folders that include each other, directly or by others, whatever the table allows."""
    nexts = {}
    for path, text in tree.cpp():
        if not path.startswith("tests/"):
            own = {folder_of(match.group(1)) for match in INCLUDE.finditer(text) if match.group(1)}
            nexts.setdefault(folder_of(path), set()).update(own - {folder_of(path)})
    done = set()

    def walk(folder, way):
        if folder in way:
            yield f"{folder}:1: a circle of includes: " + " ".join(way[way.index(folder):] + [folder])
        elif folder not in done:
            for other in sorted(nexts.get(folder, ())):
                yield from walk(other, way + [folder])
            done.add(folder)

    for folder in sorted(nexts):
        yield from walk(folder, [])


def example(path, include, *others):
    return {path: f"#include {include}\n", **{other: "" for other in others}}


WRONG = [
    example("transport/udp/a.cpp", '"transport/core/b.h"', "transport/core/b.h"),
    example("transport/base/a.h", '"transport/wire/b.h"', "transport/wire/b.h"),
    example("transport/core/a.cpp", '"transport/udp/b.h"', "transport/udp/b.h"),
    example("transport/core/rate/a.cpp", '"tests/sim/b.h"', "tests/sim/b.h"),
    example("spank/a.cpp", '"stager/config/b.h"', "stager/config/b.h"),
    example("stager/daemon/a.cpp", '"stager/worker/b.h"', "stager/worker/b.h"),
    example("pmix/a.cpp", '"stager/control/b.h"', "stager/control/b.h"),
    example("stager/attic/a.cpp", '"transport/base/b.h"', "transport/base/b.h"),
    example("transport/core/a.cpp", '"b.h"', "transport/core/b.h"),
    example("stager/worker/a.cpp", "<pmix.h>"),
    example("stager/daemon/a.cpp", "<slurm/slurm.h>"),
    example("transport/udp/a.cpp", "<infiniband/verbs.h>"),
    example("transport/core/a.cpp", "<sys/socket.h>"),
    example("spank/a.cpp", "<boost/filesystem.hpp>"),
]
RIGHT = [
    example("transport/udp/a.cpp", '"transport/fabric/driver.h"', "transport/fabric/driver.h"),
    example("transport/run/a.cpp", '"transport/core/source/b.h"', "transport/core/source/b.h"),
    example("spank/a.cpp", '"transport/base/b.h"', "transport/base/b.h"),
    example("stager/daemon/a.cpp", '"stager/messages/worker_setup.h"', "stager/messages/worker_setup.h"),
    example("tests/sim/a.cpp", '"transport/core/b.h"', "transport/core/b.h"),
    example("stager/slurm/slurm_query.cpp", "<slurm/slurm.h>"),
    example("spank/a.cpp", "<slurm/spank.h>"),
    example("pmix/host/a.cpp", "<pmix_server.h>"),
]
CIRCLE_WRONG = [
    {"pmix/a.h": '#include "spank/b.h"\n', "spank/b.h": '#include "stager/c.h"\n',
     "stager/c.h": '#include "pmix/d.h"\n', "pmix/d.h": ""},
]
CIRCLE_RIGHT = [
    {"pmix/a.h": '#include "spank/b.h"\n#include "pmix/d.h"\n#include "stager/c.h"\n',
     "spank/b.h": '#include "stager/c.h"\n', "stager/c.h": "", "pmix/d.h": ""},
    {"pmix/a.h": '#include "spank/b.h"\n', "spank/b.h": "", "tests/c.h": '#include "pmix/a.h"\n'},
]

"""Who may include whom?

The arrows of docs/ARCHITECTURE.md as a table, and which folders know which library.
"""

import re

# For each folder, what it may include besides itself. A folder stands for its own files, not
# for those of folders in it; what ends in a dot is one file. tests/ may include everything.
# ENGINE is what whoever runs a transport may see; a driver never sees the core.
BASE = ["transport/base"]
DRIVER = BASE + ["transport/wire", "transport/run/driver."]
CORE = BASE + ["transport/wire", "transport/seal", "transport/core"]
ENGINE = CORE + ["transport/run"]

MAY_INCLUDE = {
    "transport/base": [],
    "transport/wire": BASE,
    "transport/seal": BASE + ["transport/wire"],
    "transport/core": CORE,
    "transport/run": ENGINE,
    "transport/udp": DRIVER,
    "transport/verbs": DRIVER,
    "transport/tcp": DRIVER,
    "transport/wan": DRIVER,
    "pmix": BASE,
    "pmix/host": BASE + ["pmix"],
    "spank": BASE + ["stager/control"],
    "stager/control": BASE,
    "stager/config": BASE,
    "stager/cache": BASE + ["stager/spawn/descriptors."]
    + ["stager/files/disk_io.", "stager/files/drop_behind.", "stager/link/frame_seal."],
    "stager/spawn": BASE + ["stager/control", "stager/config"]
    + ["stager/files/cleanup_entry.", "stager/files/removal.", "stager/files/empty_directory."],
    "stager/link": BASE + ["stager/config", "transport/seal"],
    "stager/files": ENGINE + ["stager/control", "stager/cache"],
    "stager/worker": ENGINE + ["stager/files", "stager/cache", "stager/control", "stager/config", "pmix"]
    + ["transport/udp", "transport/verbs", "transport/tcp", "transport/wan"],
    "stager/cli": BASE + ["stager/control", "stager/config", "stager/cache", "stager/files/disk_io."]
    + ["stager/link/munge_check.", "stager/daemon/job_directory.", "stager/daemon/host_list."]
    + ["stager/daemon/cache_directory."]
    + ["pmix/host_file.", "pmix/key_credential."],
    "stager/daemon": BASE + ["transport/seal", "transport/wire"]
    + ["stager/control", "stager/config", "stager/spawn", "stager/link"]
    + ["stager/worker/setup.", "stager/worker/stranger_fd."]
    + ["stager/cache"]
    + ["transport/udp", "pmix", "pmix/host"],
}

# Libraries: which folders (or files) may include a header that begins so.
LIBRARY = {
    "infiniband/": ["transport/verbs"],
    "rdma/": ["transport/verbs"],
    "pmix": ["pmix", "pmix/host"],
    "slurm/": ["spank", "stager/daemon/slurm_query.", "stager/daemon/slurm_nodes."]
    + ["stager/daemon/slurm_releases."],
    "munge.h": ["stager/link", "pmix/host", "pmix/key_credential."],
    "archive": ["stager/files/archive_handle.", "stager/files/read_trouble."],
    "zlib.h": ["stager/files/gzip_stream.", "stager/files/zip_directory."],
    "lz4": ["stager/files/lz4_stream."],
    "zstd.h": ["transport/run/block_codec."],
    "intel-ipsec-mb.h": ["transport/seal/ipsec_gcm.", "transport/seal/algorithms."],
    "catch2/": [],
}

# The plugin's rooms are guests in Slurm and know only C and C++; the core is pure.
PLUGIN_ROOMS = ["spank", "stager/control", "transport/base"]
FORBIDDEN = {
    "openssl/": PLUGIN_ROOMS + ["stager/config", "transport/wire", "transport/core"],
    "boost/": PLUGIN_ROOMS + ["transport/wire", "transport/seal", "transport/core"],
    "nlohmann/": PLUGIN_ROOMS + ["transport/wire", "transport/seal", "transport/core"],
    "thread": PLUGIN_ROOMS + ["transport/core", "transport/wire", "transport/seal"],
    "mutex": PLUGIN_ROOMS + ["transport/core", "transport/wire", "transport/seal"],
    "random": ["transport/core", "transport/wire"],
    "fstream": ["transport/core", "transport/wire", "transport/seal"],
    "iostream": ["transport/core", "transport/wire", "transport/seal"],
    "sys/": ["transport/core", "transport/wire"],
    "netinet/": ["transport/core", "transport/wire"],
    "unistd.h": ["transport/core", "transport/wire"],
    "fcntl.h": ["transport/core", "transport/wire"],
    "time.h": ["transport/core", "transport/wire"],
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def folder_of(path):
    return path.rsplit("/", 1)[0]


def among(path, places):
    return any(
        path.startswith(place) if place.endswith(".") else folder_of(path) == place
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


def planted(path, include, *others):
    return {path: f"#include {include}\n", **{other: "" for other in others}}


WRONG = [
    planted("transport/udp/a.cpp", '"transport/core/b.h"', "transport/core/b.h"),
    planted("transport/base/a.h", '"transport/wire/b.h"', "transport/wire/b.h"),
    planted("transport/core/a.cpp", '"transport/udp/b.h"', "transport/udp/b.h"),
    planted("transport/core/a.cpp", '"tests/sim/b.h"', "tests/sim/b.h"),
    planted("spank/a.cpp", '"stager/config/b.h"', "stager/config/b.h"),
    planted("stager/daemon/a.cpp", '"stager/worker/b.h"', "stager/worker/b.h"),
    planted("pmix/a.cpp", '"stager/control/b.h"', "stager/control/b.h"),
    planted("stager/attic/a.cpp", '"transport/base/b.h"', "transport/base/b.h"),
    planted("transport/core/a.cpp", '"b.h"', "transport/core/b.h"),
    planted("stager/worker/a.cpp", "<pmix.h>"),
    planted("stager/daemon/a.cpp", "<slurm/slurm.h>"),
    planted("transport/udp/a.cpp", "<infiniband/verbs.h>"),
    planted("transport/core/a.cpp", "<sys/socket.h>"),
    planted("spank/a.cpp", "<boost/filesystem.hpp>"),
]
RIGHT = [
    planted("transport/udp/a.cpp", '"transport/run/driver.h"', "transport/run/driver.h"),
    planted("transport/run/a.cpp", '"transport/core/b.h"', "transport/core/b.h"),
    planted("spank/a.cpp", '"transport/base/b.h"', "transport/base/b.h"),
    planted("stager/daemon/a.cpp", '"stager/worker/setup.h"', "stager/worker/setup.h"),
    planted("tests/sim/a.cpp", '"transport/core/b.h"', "transport/core/b.h"),
    planted("stager/daemon/slurm_query.cpp", "<slurm/slurm.h>"),
    planted("spank/a.cpp", "<slurm/spank.h>"),
    planted("pmix/host/a.cpp", "<pmix_server.h>"),
]

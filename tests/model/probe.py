#!/usr/bin/env python3
"""Reports what one task of a job finds.  probe.py TAG BASE SECONDS: writes it to BASE/out, stays so long."""

import json
import os
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from snapshot import snapshot  # noqa: E402


def main():
    tag, base, seconds = sys.argv[1:]
    env = {name: value for name, value in os.environ.items() if name.startswith(("STAGECAST", "SLURM_RESTART", "SLURM_ARRAY"))}
    with open(f"{base}/look.{tag}.json", encoding="ascii") as file:
        look = json.load(file)
    top = env.get("STAGECAST_DIR" if tag == "job" else "STAGECAST_STEP_DIR")
    seen = {"env": env, "node": socket.gethostname(), "top": top, "places": {}, "runs": {}, "files": None}

    def path_of(place):
        place = place.replace("%j", os.environ["SLURM_JOB_ID"])
        return place if place.startswith("/") or not top else f"{top}/{place}"

    for place in look["places"]:
        seen["places"][place] = snapshot(path_of(place))
    for program in look["programs"]:
        try:
            seen["runs"][program] = subprocess.run([path_of(program)], timeout=20, check=False).returncode
        except OSError as error:
            seen["runs"][program] = str(error)
    try:
        with open(f"{top}/.stagecast/files", "rb") as file:
            seen["files"] = os.fsdecode(file.read()).split("\0")[:-1]
    except OSError:
        pass
    name = ".".join([tag, os.environ["SLURM_JOB_ID"], seen["node"], env.get("SLURM_RESTART_COUNT", "0")])
    with open(f"{base}/out/.{name}", "w", encoding="ascii") as file:
        json.dump(seen, file)
    os.rename(f"{base}/out/.{name}", f"{base}/out/{name}")
    time.sleep(float(seconds))


main()

#!/usr/bin/env python3
"""Archives as an enemy would make them: each gets a name in the directory that is given.

What they reach for lies outside of where they are unpacked: /tmp/outside.
"""

import io
import os
import sys
import tarfile
import zipfile

OUTSIDE = "/tmp/outside"


def member(name, kind=tarfile.REGTYPE, link="", mode=0o644, content=b""):
    one = tarfile.TarInfo(name)
    one.type, one.linkname, one.mode, one.size = kind, link, mode, len(content)
    return one, io.BytesIO(content)


def tar(path, members, how="w"):
    with tarfile.open(path, how, format=tarfile.PAX_FORMAT) as archive:
        for one, content in members:
            archive.addfile(one, content if one.isreg() else None)


def harmless(count=3):
    return [member(f"ok/{i}", content=b"x" * 5000) for i in range(count)]


def main(top):
    os.chdir(top)
    evil = b"this should not be here"
    tar("up.tar", harmless() + [member("ok/../../outside/evil", content=evil)])
    tar("absolute.tar.gz", harmless() + [member(f"{OUTSIDE}/evil", content=evil)], "w:gz")
    tar("through.tar", [member("way", tarfile.SYMTYPE, OUTSIDE), member("way/evil", content=evil)])
    tar("twice.tar", [member("a", tarfile.SYMTYPE, "."), member("a/b", tarfile.SYMTYPE, OUTSIDE),
                      member("a/b/evil", content=evil)])
    tar("hard.tar", [member("h", tarfile.LNKTYPE, f"{OUTSIDE}/secret"), member("h", content=evil)])
    tar("hardup.tar", [member("h", tarfile.LNKTYPE, "../../outside/secret")])
    tar("hardlink.tar", [member("way", tarfile.SYMTYPE, OUTSIDE),
                         member("h", tarfile.LNKTYPE, "way/secret")])
    tar("device.tar", harmless() + [member("null", tarfile.CHRTYPE)])
    tar("fifo.tar", harmless() + [member("pipe", tarfile.FIFOTYPE)])
    tar("bomb.tar.gz", [member(f"zeros/{i}", content=bytes(20_000_000)) for i in range(8)], "w:gz")
    with zipfile.ZipFile("up.zip", "w") as archive:
        archive.writestr("../../outside/evil", evil)
    with zipfile.ZipFile("through.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        link = zipfile.ZipInfo("way")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, OUTSIDE)
        archive.writestr("way/evil", evil)


main(sys.argv[1])

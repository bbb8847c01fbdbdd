#!/usr/bin/python3
"""Swaps a name for a link after it has been checked.  swap.py SECONDS DIRECTORY TARGET

As fast as it can: DIRECTORY is a directory, then a link to TARGET, and the directory again. Its
files go along with it. Prints how often."""
import os
import sys
import time

end = time.monotonic() + float(sys.argv[1])
name, target = sys.argv[2], sys.argv[3]
aside = name + ".aside"
link = name + ".link"
times = 0
while time.monotonic() < end:
    try:
        os.symlink(target, link)
        os.rename(name, aside)
        os.rename(link, name)
        os.unlink(name)
        os.rename(aside, name)
        times += 1
    except OSError:
        for path in (link,):
            try:
                os.unlink(path)
            except OSError:
                pass
        if os.path.islink(name):
            os.unlink(name)
        if not os.path.exists(name) and os.path.isdir(aside):
            os.rename(aside, name)
print("swapped", times)

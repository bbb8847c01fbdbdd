#!/bin/sh
# A site's Epilog= for nodes where staged files may stay for later jobs: removes what was put there more
# than 30 days ago from the one place that the site gives to them (DestRoots=/local/scratch). Whole
# entries only: a directory out of which single files went is one that "keep" and "newer" leave as
# it is. What counts is when the entry came to its name (ctime), not when it was last read: with noatime
# the script can't know that.
#
# stagecast removes jobs' own directories by itself; nothing is to be done for those here.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
place=/local/scratch

# Not while another job is here: it may have been given what would go, or run without staging.
[ -z "$(ls -A /run/stagecast/jobs 2>/dev/null)" ] || exit 0
pgrep -x slurmstepd >/dev/null && exit 0

# First out of the way, by one rename, then removed: no process ever finds half of it. What an earlier run
# could not remove comes up again.
find "$place" -xdev -mindepth 1 -maxdepth 1 -ctime +30 ! -name lost+found -exec sh -c '
  for entry; do
    mv -T -- "$entry" "$0/.old.$$" && rm -rf --one-file-system -- "$0/.old.$$"
  done' "$place" {} + 2>/dev/null
exit 0 # never drain a node for this

#!/bin/sh
# A site's Epilog= for nodes where staged files may stay for later jobs: removes what nobody has read
# for a week from the one place that the site gives to them (DestRoots=/local/scratch).
#
# stagecast removes jobs' own directories by itself; nothing is to be done for those here.
find /local/scratch -xdev -mindepth 1 -type f -atime +7 -delete 2>/dev/null
find /local/scratch -xdev -mindepth 2 -type d -empty -delete 2>/dev/null
exit 0 # never drain a node for this

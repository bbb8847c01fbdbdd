#!/bin/bash
# Prints everything that staging could have left on this node. Printed in a form that two moments can be compared by.
shopt -s nullglob

# Groups joined on any interface, and UDP sockets.
awk 'NR > 1 && NF >= 4 && $1 ~ /^[0-9A-F]+$/ && length($1) == 8 { print "group", $1 }
     NR > 1 && $2 == "eth0" { print "interface eth0" }' /proc/net/igmp | sort
ss -Huan | awk '{ print "udp", $4 }' | sort

# Our processes, counted by user and name: spares belong, workers do not.
ps -eo user:16=,comm= | awk '$2 ~ /^stagecast/ { n[$1 " " $2]++ } END { for (p in n) print "process", p, n[p] }' | sort

# Files: job directories, verdicts, temporary names anywhere a destination may be, PMIx' own.
# (A spare host has a directory with a number of its own.)
find /var/spool/stagecast -mindepth 1 2>/dev/null | sed -E 's/[.]host[.][0-9]+/.host.N/; s/^/staged /' | sort
find /run/stagecast/jobs -mindepth 1 2>/dev/null | sort | sed 's/^/marker /'
find /home /tmp /var/tmp -xdev -name '.*.stagecast.*' 2>/dev/null | sort | sed 's/^/temporary /'
find /tmp /var/tmp /dev/shm -mindepth 1 -maxdepth 1 ! -name 'ompi.*' 2>/dev/null | sort | sed 's/^/local /'
# What other programs of this machine mounted below /run comes and goes in our copies too.
awk '$5 !~ /^\/run\/netns/ { print "mount", $5 }' /proc/self/mountinfo | sort

# What the daemon holds open: files by name (sockets, pipes and counters vary).
for daemon in $(ps -eo pid=,comm= | awk '$2 == "stagecastd" { print $1 }'); do
  for fd in "/proc/$daemon/fd"/*; do
    name=$(readlink "$fd")
    case $name in /dev/null | /var/log/* | /proc/* | anon_inode:* | socket:* | pipe:*) ;; /*) echo "open $name" ;; esac
  done
done | sort

#!/bin/sh
# A site's HealthCheckProgram=: drains a node on which nothing can be staged, and takes it back when
# it can. Without it such a node takes one job after another and fails each. Slurm runs this as root,
# with hardly an environment, and kills it after 60 s.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
node=${SLURMD_NODENAME:-$(hostname -s)}

# Only what is one node's own: what slurm.conf says is the same everywhere and would drain all of them.
wrong=$(timeout 40 stagecast doctor | sed -n 's/^WRONG *//p' | grep -E '^(stagecastd|munge|StageRoot)' | head -n 1)
reason=$(sinfo -h -N -n "$node" -o %E | head -n 1)
case $reason in
  none) [ -z "$wrong" ] || scontrol update "nodename=$node" state=drain "reason=stagecast: $wrong" ;;
  'stagecast: '*) [ -n "$wrong" ] || scontrol update "nodename=$node" state=resume ;;
esac
exit 0 # releases after 22.05 keep slurmd from registering until this is 0
